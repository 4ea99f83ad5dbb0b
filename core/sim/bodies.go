package sim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/wire"
)

type bodyKey struct {
	kind int
	key  api.Key
	rv   api.ResourceVersion
}

// bodyOf returns the JSON of one version without its resource version. All bodies
// differ, and consecutive versions share some text.
func bodyOf(r *lite.Rand, schema api.Schema, o *api.Object, sentinel string, padding int) []byte {
	words := make([]string, 1+r.Int63n(6))
	for i := range words {
		words[i] = pick(r, "alpha", "beta", "gamma", "delta")
	}
	value := func(field string) string {
		if i := schema.Field(field); i >= 0 {
			return o.Fields[i]
		}
		return ""
	}
	restarts := int64(0)
	if i := schema.Column("Restarts"); i >= 0 {
		restarts = o.Columns[i].Int
	}
	labels := []string{}
	for _, l := range o.Labels.WithoutOwner() {
		labels = append(labels, strconv.Quote(l.Key)+":"+strconv.Quote(l.Value))
	}
	return fmt.Appendf(nil, `{"kind":%q,"apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":%q,"labels":{%s},"ownerReferences":[{"controller":true,"uid":%q}],"annotations":{"example.com/own":%q}},`+
		`"immutable":%v,"spec":{"nodeName":%q,"words":%q,"own":%q},"status":{"phase":%q,"restarts":%d,"nonce":%q},"padding":%q}`,
		schema.Kind, o.Key.Name(), o.Key.Namespace(), o.UID, strings.Join(labels, ","), o.Labels.Owner(), sentinel, o.Flags&api.Immutable != 0,
		value("spec.nodeName"), strings.Join(words, " "), sentinel, value("status.phase"), restarts, strconv.FormatUint(r.Uint64(), 36), strings.Repeat("=", padding))
}

// encode returns an update with its body encoded, usually as a delta to the body of its
// base.
func (c *connector) encode(f *feed, put *cacher.Update) *cacher.Update {
	base := f.cacher.Bodies().BaseFor(f.cacher.State().Get(put.Envelope.Key()))
	if c.world.setup.Whole || base == 0 || c.rand.Int63n(4) == 0 {
		return c.encoded(f, put)
	}
	arena := f.cacher.Arena()
	plain, err := body.Decode(nil, arena.Body(base), f.cacher.Bodies().Dictionary(base), nil)
	must(err)
	delta, ok := c.world.encoders[f.kind].EncodeDelta(nil, plain, put.Envelope.Body().Data, 1<<20)
	if !ok {
		return c.encoded(f, put)
	}
	made := *put
	made.Envelope = put.Envelope.AppendWithBody(nil, delta)
	made.Base = wire.Base{ResourceVersion: arena.ResourceVersion(base)}
	return &made
}

// checkBody checks that a body belongs to the delivered version. For an object that left
// the watch, the body may belong to any earlier version.
func (r *reader) checkBody(kind int, it *wire.Item, left, wanted bool) {
	data := it.Envelope.Body().Data
	if !wanted {
		if len(data) > 0 {
			r.world.fail(ErrBody, "reader %d: %s has a body that was not requested", r.id, it.Envelope.Key())
		}
		return
	}
	name, _, _ := strings.Cut(it.Envelope.UID(), "-")
	for _, s := range r.world.sources {
		if s.name != name {
			continue
		}
		if !left && s.sameBody(bodyKey{kind, it.Envelope.Key(), it.ResourceVersion}, it.ResourceVersion, data) {
			return
		}
		for rv := it.ResourceVersion - 1; left && rv >= s.first(); rv-- {
			if s.sameBody(bodyKey{kind, it.Envelope.Key(), rv}, it.ResourceVersion, data) {
				return
			}
		}
	}
	r.world.fail(ErrBody, "reader %d: %s at version %d has the body %q", r.id, it.Envelope.Key(), it.ResourceVersion, data)
}

func (s *source) sameBody(of bodyKey, stamped api.ResourceVersion, data []byte) bool {
	plain, ok := s.bodies[of]
	if !ok {
		return false
	}
	want, err := objectjson.SetResourceVersion(nil, []byte(plain), stamped)
	must(err)
	return string(want) == string(data)
}

// collectionError checks that the engine could decode all objects. Only the source may
// report unreadable objects.
func (r *reader) collectionError(f *wire.CollectionError) {
	if strings.Contains(f.Status.Message, "cannot be decoded: ") {
		r.world.fail(ErrBody, "reader %d: %v", r.id, f.Status)
	}
	if f.Status.Code == api.CodeTooLarge {
		r.world.saw(Oversized)
	} else {
		r.world.saw(Unreadable)
	}
}
