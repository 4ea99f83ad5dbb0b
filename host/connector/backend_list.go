package connector

import (
	"context"
	"sync"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// listBytes is how much of a list is copied out of the cacher at a time. One object
// is copied whatever its size.
const listBytes = 64 << 10

// list is a list that its client is reading. It holds a copy of the objects that are
// being sent and no others.
type list struct {
	connector *Connector

	// Guarded by connector.mu.
	pages *cacher.Pages
	held  int // bytes of the copy

	page []*stored
}

// List implements kubeapi.Backend.
func (b backend) List(ctx context.Context, resource api.Resource, o kubeapi.ListOptions) (*kubeapi.List, error) {
	col, err := b.hold(ctx, resource)
	if err != nil {
		return nil, err
	}
	defer col.release()
	answer := make(chan answered[*kubeapi.List], 1)
	col.ask(func(c *cacher.Cacher) {
		status := c.OpenList(listOptions(&o), func(p *cacher.Pages, status *api.Status) {
			if status != nil {
				answer <- answered[*kubeapi.List]{nil, status}
				return
			}
			answer <- answered[*kubeapi.List]{b.connector.list(c, p, selector.ScopeOf(o.Namespace, o.Selection.Fields)), nil}
		})
		if status != nil {
			answer <- answered[*kubeapi.List]{nil, status}
		}
	})
	return await(ctx, b.connector, answer)
}

// survey is what a list will take.
type survey struct {
	objects int
	rv      api.ResourceVersion
	fresh   bool // it can be answered now
}

// Weigh implements kubeapi.Weigher.
func (b backend) Weigh(ctx context.Context, resource api.Resource, o kubeapi.ListOptions, waiting func() error) (int, error) {
	waiting = sync.OnceValue(waiting)
	col, err := b.holdOnce(ctx, resource, waiting)
	if err != nil {
		return 0, err
	}
	defer col.release()
	s, err := col.survey(&o)
	if err != nil || s.fresh {
		return s.objects, err
	}
	if err := waiting(); err != nil {
		return 0, err
	}
	answer := make(chan answered[survey], 1)
	col.ask(func(c *cacher.Cacher) {
		c.WhenFresh(s.rv, func(status *api.Status) { answer <- answered[survey]{s, orNil(status)} })
	})
	if _, err := await(ctx, b.connector, answer); err != nil {
		return 0, err
	}
	s, err = col.survey(&o)
	return s.objects, err
}

func (col *collection) survey(o *kubeapi.ListOptions) (s survey, err error) {
	col.ask(func(c *cacher.Cacher) {
		var status *api.Status
		s.rv, s.objects, status = c.Survey(listOptions(o))
		s.fresh, err = c.Fresh(s.rv), orNil(status)
	})
	return s, err
}

func listOptions(o *kubeapi.ListOptions) cacher.ListOptions {
	return cacher.ListOptions{
		Namespace: o.Namespace, Selection: o.Selection,
		ResourceVersion: o.ResourceVersion, Match: o.Match, Limit: o.Limit, Continue: o.Continue,
	}
}

// list runs under the lock. Faults within the scope of the request become
// warnings.
func (c *Connector) list(from *cacher.Cacher, p *cacher.Pages, scope api.Scope) *kubeapi.List {
	l := &list{connector: c, pages: p}
	answer := &kubeapi.List{ResourceVersion: p.ResourceVersion, Continue: p.Continue, Remaining: p.Remaining, Items: l.items}
	faults, _ := from.Faults()
	for _, f := range faults {
		if scope.Has(f.Key) && !f.Retracted() {
			answer.Warnings = append(answer.Warnings, f.Status.Message)
		}
	}
	return answer
}

// items implements kubeapi.List.Items.
func (l *list) items(yield func(kubeapi.Object, error) bool) {
	defer l.drop()
	for done := false; !done; {
		var status *api.Status
		if done, status = l.next(); status != nil {
			yield(nil, status)
			return
		}
		for _, item := range l.page {
			if o, err := item.open(); !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// next copies the objects that come next. Lists take turns with readers that are
// sent something long.
func (l *list) next() (done bool, status *api.Status) {
	c := l.connector
	c.turn.Lock()
	defer c.turn.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	l.page = nil
	size := 0
	done, status = l.pages.Next(func(from *cacher.Cacher, ref store.Ref) (more bool) {
		item := copyVersion(from, ref, from.Heap().ResourceVersion(ref))
		l.page = append(l.page, item)
		size += item.size()
		return size < listBytes
	})
	l.hold(size)
	return done, status
}

// hold counts the bytes of the copy. The caller holds the lock.
func (l *list) hold(size int) {
	l.connector.listBytes += size - l.held
	l.held = size
}

func (l *list) drop() {
	l.page = nil
	l.connector.mu.Lock()
	defer l.connector.mu.Unlock()
	l.hold(0)
}
