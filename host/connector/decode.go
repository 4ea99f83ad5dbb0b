package connector

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/body/skeleton"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/limit"
)

// decoder converts raw values to envelopes with compressed bodies. Each upstream watch has
// one.
type decoder struct {
	resource api.Resource
	scanner  *objectjson.Scanner
	keep     objectjson.Options
	limits   *limit.Set
	limit    int
	// encoder encodes bodies with the dictionary of the resource.
	encoder    *body.Encoder
	dictionary []byte

	body  []byte        // scratch
	plain []byte        // scratch
	put   cacher.Update // scratch
}

// newDecoder returns a decoder for the objects of a resource. The dictionary depends
// on the schema alone, because all readers receive it, regardless of their rights.
func newDecoder(schema *api.Schema, config *Config) (*decoder, error) {
	scanner, err := catalog.NewScanner(schema)
	if err != nil {
		return nil, err
	}
	dictionary := skeleton.Dictionary(schema.Resource, schema.Kind)
	encoder, err := body.NewEncoder(dictionary)
	if err != nil {
		return nil, err
	}
	return &decoder{
		resource: schema.Resource, scanner: scanner, keep: config.Keep, limits: config.Limits, limit: config.Limits.Int(limit.MaxObjectBytes),
		encoder: encoder, dictionary: dictionary,
	}, nil
}

// base is a version of an object whose body a delta applies to. The zero value means that
// there is no base.
type base struct {
	rv   api.ResourceVersion
	body api.Body
}

// decode converts a raw value to an update for the cacher. It encodes the body as a delta
// against the base if the delta is small enough. The update is valid until the next
// decode. If the value cannot be served, decode returns the fault as a status.
func (d *decoder) decode(key api.Key, rv api.ResourceVersion, value []byte, from *base) (*cacher.Update, *api.Status) {
	o, fault := d.scan(key, rv, value)
	if fault != nil {
		return nil, fault
	}
	body, pays, err := d.difference(o.Body.Data, from)
	if err != nil {
		return nil, d.fault(key, rv, api.Internal("the previous version cannot be decoded: "+err.Error()))
	}
	if !pays {
		body = d.encoder.Encode(d.body[:0], o.Body.Data)
	}
	o.Body, d.body = body, body.Data
	d.put = cacher.Update{
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

// difference encodes a body as a delta against the base, and reports whether the delta is
// small enough: at most three quarters of the base (see doc.go). Otherwise, the body
// becomes a new base, which is sent once to every reader and makes later deltas smaller.
func (d *decoder) difference(plain []byte, from *base) (delta api.Body, pays bool, err error) {
	if from.rv == 0 {
		return api.Body{}, false, nil
	}
	if d.plain, err = body.Decode(d.plain[:0], from.body, d.dictionary, nil); err != nil {
		return api.Body{}, false, err
	}
	delta, pays = d.encoder.EncodeDelta(d.body[:0], d.plain, plain, len(from.body.Data)*3/4)
	return delta, pays, nil
}

// scan converts a raw value to an object with a plain JSON body, or returns the fault if
// the value cannot be served.
func (d *decoder) scan(key api.Key, rv api.ResourceVersion, value []byte) (api.Object, *api.Status) {
	if len(value) > d.limit {
		return api.Object{}, d.fault(key, rv, d.limits.Refuse(limit.MaxObjectBytes, "it has "+strconv.Itoa(len(value))+" bytes, the limit is "+
			strconv.Itoa(d.limit)+": make the object smaller or raise the limit"))
	}
	o, err := d.scanner.Scan(value, d.keep)
	if err != nil {
		return api.Object{}, d.fault(key, rv, undecodable(value, err))
	}
	if o.Key != key {
		return api.Object{}, d.fault(key, rv, api.Invalid("its metadata has the key "+strconv.Quote(string(o.Key))+
			", and it is stored under another key; delete it or store it under its own key"))
	}
	return o, nil
}

// undecodable returns the status of a value that cannot be decoded. For protobuf and
// encryption at rest, the status contains a remedy.
func undecodable(value []byte, err error) *api.Status {
	switch {
	case bytes.HasPrefix(value, []byte("k8s\x00")):
		return api.Invalid("it is stored as protobuf: run kube-apiserver with --storage-media-type=application/json " +
			"and rewrite the object, or read through kube-apiserver instead of etcd")
	case bytes.HasPrefix(value, []byte("k8s:enc:")):
		return api.Invalid("it is stored encrypted: read through kube-apiserver instead of etcd")
	}
	message := err.Error()
	var syntax *objectjson.SyntaxError
	if errors.As(err, &syntax) {
		message = syntax.Status().Message
	}
	return api.Invalid(message + ": write the object again or delete it")
}

// fault adds the resource, key and version of the object to the message of a status, and
// returns the status.
func (d *decoder) fault(key api.Key, rv api.ResourceVersion, s *api.Status) *api.Status {
	s.Message = d.resource.String() + " " + strconv.Quote(string(key)) + " at resource version " + rv.String() +
		" cannot be served: " + s.Message
	return s
}

// own returns a copy of an update that stays valid after the next decode. The copy shares
// the immutable strings.
func own(p *cacher.Update) *cacher.Update {
	retained := *p
	retained.Labels = slices.Clone(p.Labels)
	retained.Envelope = slices.Clone(p.Envelope)
	return &retained
}
