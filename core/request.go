package core

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

//go:noinline
func number(n uint64) string { return strconv.FormatUint(n, 10) }

//go:noinline
func (e *Engine) replyError(request uint32, status *api.Status) {
	e.out = (&wire.ErrorReply{Request: request, Status: status}).Append(e.out)
}

// get replies with the newest known version of an object once the collection has
// data.
func (e *Engine) get(f *wire.Get) {
	c := e.findCollection(f.Collection)
	if c == nil {
		e.replyError(f.Request, api.NotFound("the collection is not open"))
		return
	}
	request, key := f.Request, api.Key(lite.Clone(string(f.Key)))
	c.shared.whenDescribed(func(status *api.Status) {
		if status != nil {
			e.replyError(request, status)
			return
		}
		cache := c.shared.cacher
		cache.Waits().WhenFresh(0, func(status *api.Status) {
			if status == nil && c.shared.lacksBody(cache.State().Get(key)) {
				e.awaitBody(c, cache, request, key)
				return
			}
			e.replyObject(c, cache, request, key, status)
		})
	})
}

func (e *Engine) replyObject(c *collection, cache *cacher.Cacher, request uint32, key api.Key, status *api.Status) {
	ref := cache.State().Get(key)
	switch {
	case status != nil:
		e.replyError(request, status)
	case ref == 0:
		e.replyError(request, api.NotFound(cache.Schema().Resource.Name+" "+lite.Quote(string(key))+" not found"))
	case c.shared.reflector.Bodies().Left() != nil:
		e.replyError(request, c.shared.reflector.Bodies().Left())
	default:
		e.plain = e.plain[:0]
		item := e.item(c, cache, ref, cache.Arena().ResourceVersion(ref), true)
		if corruption := cache.Restored().Corrupt(); corruption != nil {
			e.replyError(request, corruption)
			return
		}
		e.out = (&wire.ObjectReply{Request: request, Item: item}).Append(e.out)
	}
}

// list replies once the collection has reached the requested version.
func (e *Engine) list(f *wire.List) {
	c := e.findCollection(f.Collection)
	if c == nil {
		e.replyError(f.Request, api.NotFound("the collection is not open"))
		return
	}
	request, bodies := f.Request, f.Bodies
	selection, refused := selector.Limits{}.Parse(lite.Clone(f.LabelSelector), lite.Clone(f.FieldSelector))
	opt := cacher.ListOptions{
		Namespace: lite.Clone(f.Namespace), Selection: selection, ResourceVersion: lite.Clone(f.ResourceVersion),
		Match: f.Match, Limit: f.Limit, Continue: lite.Clone(f.Continue),
	}
	serve := func(status *api.Status) {
		cache := c.shared.cacher
		if status == nil {
			status = refused
		}
		if status == nil {
			status = cache.List(opt, func(p *cacher.Pages, status *api.Status) {
				if status != nil {
					e.replyError(request, status)
					return
				}
				e.replyList(c, cache, request, p, bodies)
			})
		}
		if status != nil {
			e.replyError(request, status)
		}
	}
	c.shared.whenDescribed(func(status *api.Status) {
		if status == nil && bodies {
			c.shared.whenComplete(serve)
		} else {
			serve(status)
		}
	})
}

// pageBytes is the size of decoded objects at which a page ends, even if it has fewer
// objects than its limit (rule P16). The engine's memory never shrinks, so a page of large
// objects would occupy memory permanently.
const pageBytes = 1 << 20

func (e *Engine) replyList(c *collection, cache *cacher.Cacher, request uint32, p *cacher.Pages, bodies bool) {
	refs, status := p.All()
	if status != nil {
		e.replyError(request, status)
		return
	}
	e.plain = e.plain[:0]
	items := make([]wire.Item, 0, len(refs))
	for i, ref := range refs {
		if p.Limited && len(e.plain) >= pageBytes {
			p.Cut(cache.Arena().Key(refs[i-1]), len(refs)-i)
			break
		}
		items = append(items, e.item(c, cache, ref, cache.Arena().ResourceVersion(ref), bodies))
	}
	if corruption := cache.Restored().Corrupt(); corruption != nil {
		e.replyError(request, corruption)
		return
	}
	e.out = (&wire.ListReply{
		Request: request, ResourceVersion: p.ResourceVersion, Continue: p.Continue, Remaining: p.Remaining, Items: items,
	}).Append(e.out)
}

// item prepares a version for the program: it decodes the body and inserts the resource
// version. The returned envelope aliases e.plain. If the body cannot be decoded, item
// omits it and reports a CollectionError. If bodies is false, the labels include the
// owner.
func (e *Engine) item(c *collection, cache *cacher.Cacher, ref store.Ref, rv api.ResourceVersion, bodies bool) wire.Item {
	arena := cache.Arena()
	it := wire.Item{ResourceVersion: rv, Flags: arena.Flags(ref), Labels: arena.LabelsOf(ref)}
	var status *api.Status
	var body, base api.Body
	if !bodies {
		it.Labels = arena.RowLabels(ref)
	} else {
		e.packed = e.packed[:0]
		base, body = arena.BaseBody(ref, &e.packed), arena.Body(ref)
	}
	it.Envelope, status = e.present(arena.Envelope(ref), body, base, cache.Bodies().Dictionary(ref), rv)
	if status != nil && cache.Restored().Corrupt() == nil {
		e.out = (&wire.CollectionError{
			Collection: c.id, Key: it.Envelope.Key(), ResourceVersion: rv, Status: status,
		}).Append(e.out)
	}
	return it
}

// present appends an envelope to e.plain and returns it. It decodes the given body and
// inserts the resource version rv. If it returns an error, the envelope has no body.
func (e *Engine) present(stored wire.Envelope, body, base api.Body, dictionary []byte, rv api.ResourceVersion) (wire.Envelope, *api.Status) {
	var status *api.Status
	if body.Codec != api.NoBody {
		json, err := e.json(body, base, dictionary, rv)
		body = api.Body{Codec: api.JSON, Data: json}
		if err != nil {
			body = api.Body{}
			status = api.Internal("the body of " + string(stored.Key()) + " cannot be decoded: " + err.Error())
		}
	}
	at := len(e.plain)
	e.plain = stored.AppendWithBody(e.plain, body)
	return e.plain[at:len(e.plain):len(e.plain)], status
}

// json returns the decoded body with its resource version, in a buffer that the next call
// reuses.
func (e *Engine) json(body, base api.Body, dictionary []byte, rv api.ResourceVersion) ([]byte, error) {
	decoded, err := e.decodeBody(body, base, dictionary)
	if err != nil {
		return nil, err
	}
	n := len(decoded)
	decoded, err = objectjson.SetResourceVersion(decoded, decoded, rv)
	e.scratch = decoded
	if err != nil {
		return nil, err
	}
	return decoded[n:], nil
}

// decodeBody decodes a body into a buffer that the next call reuses.
func (e *Engine) decodeBody(body, base api.Body, dictionary []byte) ([]byte, error) {
	if e.decode == nil {
		return nil, api.Internal("the engine was opened without a decoder")
	}
	e.base = e.base[:0]
	if base.Codec != api.NoBody {
		plain, err := e.decode(e.base, base, dictionary, nil)
		if err != nil {
			return nil, err
		}
		e.base = plain
	}
	plain, err := e.decode(e.scratch[:0], body, dictionary, e.base)
	if err == nil {
		e.scratch = plain
	}
	return plain, err
}
