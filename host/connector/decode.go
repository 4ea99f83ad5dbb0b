package connector

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/envelope"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/wasm/bodies"
	"github.com/watchglass/watchglass/wasm/bodies/skeleton"
)

// decoder turns raw values into envelopes with compressed bodies. It belongs to
// the goroutine of one upstream watch.
type decoder struct {
	resource api.Resource
	scanner  *envelope.Scanner
	keep     envelope.Options
	limit    int
	// What makes bodies, with the dictionary that all of it uses.
	encoder    *bodies.Encoder
	dictionary []byte

	body  []byte     // scratch
	plain []byte     // scratch
	put   cacher.Put // scratch
}

// newDecoder makes a decoder for the objects of a resource. Readers are sent the
// dictionary whatever they may read, so it is made of the schema alone.
func newDecoder(schema *api.Schema, config *Config) (*decoder, error) {
	scanner, err := envelope.NewScanner(schema)
	if err != nil {
		return nil, err
	}
	dictionary := skeleton.Dictionary(schema.Resource, schema.Kind)
	encoder, err := bodies.NewEncoder(dictionary)
	if err != nil {
		return nil, err
	}
	return &decoder{
		resource: schema.Resource, scanner: scanner, keep: config.Keep, limit: config.Limits.Int(limit.MaxObjectBytes),
		encoder: encoder, dictionary: dictionary,
	}, nil
}

// base is a version that a body can be the difference from. The zero value is
// none.
type base struct {
	rv   api.ResourceVersion
	body api.Body
}

// decode reads one value, whose body becomes the difference from the base if
// that pays. The result is good until the next decode. The status is the fault
// of a value that cannot be served.
func (d *decoder) decode(key api.Key, rv api.ResourceVersion, value []byte, from *base) (*cacher.Put, *api.Status) {
	o, fault := d.scan(key, rv, value)
	if fault != nil {
		return nil, fault
	}
	body, pays, err := d.difference(o.Body.Data, from)
	if err != nil {
		return nil, d.fault(key, rv, api.Internal("the version before it cannot be decoded: "+err.Error()))
	}
	if !pays {
		body = d.encoder.Encode(d.body[:0], o.Body.Data)
	}
	o.Body, d.body = body, body.Data
	d.put = cacher.Put{
		ResourceVersion: rv,
		Flags:           o.Flags,
		Labels:          o.Labels,
		Envelope:        wire.AppendEnvelope(d.put.Envelope[:0], &o),
	}
	if pays {
		d.put.Base.ResourceVersion = from.rv
	}
	return &d.put, nil
}

// difference encodes a body by what differs from the base. That pays as long as
// it takes no more than three quarters of what the base takes (see doc.go): a new
// base costs its whole size once, to everyone, and makes the differences after it
// smaller.
func (d *decoder) difference(plain []byte, from *base) (body api.Body, pays bool, err error) {
	if from.rv == 0 {
		return api.Body{}, false, nil
	}
	if d.plain, err = bodies.Decode(d.plain[:0], from.body, d.dictionary, nil); err != nil {
		return api.Body{}, false, err
	}
	body, pays = d.encoder.EncodeDelta(d.body[:0], d.plain, plain, len(from.body.Data)*3/4)
	return body, pays, nil
}

// scan is decode without compression: the body is plain JSON.
func (d *decoder) scan(key api.Key, rv api.ResourceVersion, value []byte) (api.Object, *api.Status) {
	if len(value) > d.limit {
		return api.Object{}, d.fault(key, rv, api.TooLarge("it has "+strconv.Itoa(len(value))+" bytes, the limit is "+
			strconv.Itoa(d.limit)+": make the object smaller or raise the connector's limit"))
	}
	o, err := d.scanner.Scan(value, d.keep)
	if err != nil {
		return api.Object{}, d.fault(key, rv, undecodable(value, err))
	}
	if o.Key != key {
		return api.Object{}, d.fault(key, rv, api.Invalid("the object calls itself "+strconv.Quote(string(o.Key))+
			": it was stored under another object's key; delete it or write it where it belongs"))
	}
	return o, nil
}

// undecodable says what is wrong with a value, and what to do about the two
// encodings that a kube-apiserver may have chosen on purpose.
func undecodable(value []byte, err error) *api.Status {
	switch {
	case bytes.HasPrefix(value, []byte("k8s\x00")):
		return api.Invalid("it is stored as protobuf: run kube-apiserver with --storage-media-type=application/json " +
			"and rewrite the object, or read through kube-apiserver instead of etcd")
	case bytes.HasPrefix(value, []byte("k8s:enc:")):
		return api.Invalid("it is stored encrypted: read through kube-apiserver instead of etcd")
	}
	message := err.Error()
	var syntax *envelope.SyntaxError
	if errors.As(err, &syntax) {
		message = syntax.Status().Message
	}
	return api.Invalid(message + ": write the object again or delete it")
}

// fault puts the name of the object before what is wrong with it.
func (d *decoder) fault(key api.Key, rv api.ResourceVersion, s *api.Status) *api.Status {
	s.Message = d.resource.String() + " " + strconv.Quote(string(key)) + " at resource version " + rv.String() +
		" cannot be served: " + s.Message
	return s
}

// own makes the result outlive the next decode. Strings are their own already.
func own(p *cacher.Put) *cacher.Put {
	kept := *p
	kept.Labels = slices.Clone(p.Labels)
	kept.Envelope = slices.Clone(p.Envelope)
	return &kept
}
