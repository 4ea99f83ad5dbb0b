package connector

import (
	"context"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// listBytes is the number of bytes that a list copies from the cacher at a time. The last
// object may push the total above this number.
const listBytes = 64 << 10

// list is a list response that a client is reading. It copies only the objects that are
// being sent.
type list struct {
	connector *Connector
	ctx       context.Context // context of the request

	// Guarded by connector.mu.
	evaluator
	pages *cacher.Pages
	held  int // size of the copies

	page []*stored
}

// List implements kubeapi.Backend.
func (b backend) List(ctx context.Context, resource api.Resource, o kubeapi.ListOptions) (*kubeapi.List, error) {
	col, err := b.hold(ctx, resource)
	if err != nil {
		return nil, err
	}
	defer col.release()
	l := &list{connector: b.connector, ctx: ctx}
	opened, err := l.open(col, &o)
	if err != nil {
		l.drop()
	}
	return opened, err
}

// open waits until the collection is fresh enough, and then determines the version, the continue
// token and the remaining count of the page. The iterator items copies the objects later.
func (l *list) open(col *collection, o *kubeapi.ListOptions) (*kubeapi.List, error) {
	answer := make(chan answered[*kubeapi.List], 1)
	col.request(func(c *cacher.Cacher) {
		status := l.start(c, o, func(opened *kubeapi.List, status *api.Status) {
			answer <- answered[*kubeapi.List]{opened, orNil(status)}
		})
		if status != nil {
			answer <- answered[*kubeapi.List]{nil, status}
		}
	})
	opened, err := await(l.ctx, l.connector, answer)
	if err != nil {
		return nil, err
	}
	if err := l.advance(l.pages.Prepare); err != nil {
		return nil, err
	}
	opened.ResourceVersion, opened.Continue, opened.Remaining = l.pages.ResourceVersion, l.pages.Continue, l.pages.Remaining
	return opened, nil
}

// start returns a status if it refuses the list. Otherwise it returns nil and calls opened
// as soon as the collection is fresh enough. The caller holds the lock.
func (l *list) start(c *cacher.Cacher, o *kubeapi.ListOptions, opened func(*kubeapi.List, *api.Status)) *api.Status {
	l.connector.use(&l.evaluator, o.Client, o.Selection)
	if l.allowance != nil {
		if status := l.connector.refuseList(l.allowance); status != nil {
			return status
		}
	}
	options := listOptions(o)
	options.Meter = &l.meter
	return c.List(options, func(p *cacher.Pages, status *api.Status) {
		l.pages = p
		opened(&kubeapi.List{Warnings: warnings(c, selector.ScopeOf(o.Namespace, o.Selection.Fields)), Items: l.items}, status)
	})
}

// advance calls step until step reports that it is done. It calls step with the lock held,
// and only while evaluations are available.
func (l *list) advance(step func() (done bool, status *api.Status)) error {
	for {
		done, wait, status := l.step(step)
		switch {
		case status != nil:
			return status
		case done:
			return nil
		case wait > 0:
			if err := l.pause(wait); err != nil {
				return err
			}
		}
	}
}

// step runs one step, or returns how long to wait for evaluations. Lists and readers with
// long messages take turns, so that other users of the lock wait for at most one list or
// reader.
func (l *list) step(step func() (done bool, status *api.Status)) (done bool, wait time.Duration, status *api.Status) {
	c := l.connector
	c.turn.lock()
	defer c.turn.unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait = c.evaluate(&l.evaluator); wait > 0 {
		return false, wait, nil
	}
	done, status = step()
	return done, 0, status
}

// pause waits for the given time. It returns an error if the request's context is done or
// the connector closes first.
func (l *list) pause(wait time.Duration) error {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	defer context.AfterFunc(l.connector.stopping, cancel)()
	err := pause(ctx, wait)
	if err != nil && l.ctx.Err() == nil {
		return l.connector.closing()
	}
	return err
}

// survey is the estimated number of objects in a list response, and the resource version
// of the estimate.
type survey struct {
	objects int
	rv      api.ResourceVersion
	fresh   bool // the list need not wait for a newer version
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
	col.request(func(c *cacher.Cacher) {
		c.Waits().WhenFresh(s.rv, func(status *api.Status) { answer <- answered[survey]{s, orNil(status)} })
	})
	if _, err := await(ctx, b.connector, answer); err != nil {
		return 0, err
	}
	s, err = col.survey(&o)
	return s.objects, err
}

func (col *collection) survey(o *kubeapi.ListOptions) (s survey, err error) {
	col.request(func(c *cacher.Cacher) {
		var status *api.Status
		s.rv, s.objects, status = listOptions(o).Survey(c)
		s.fresh, err = c.Waits().Fresh(s.rv), orNil(status)
	})
	return s, err
}

func listOptions(o *kubeapi.ListOptions) cacher.ListOptions {
	return cacher.ListOptions{
		Namespace: o.Namespace, Selection: o.Selection,
		ResourceVersion: o.ResourceVersion, Match: o.Match, Limit: o.Limit, Continue: o.Continue,
	}
}

// warnings returns the messages of the faults within the scope of a request. The caller
// holds the lock.
func warnings(from *cacher.Cacher, scope api.Scope) (all []string) {
	faults, _ := from.Faults()
	for _, f := range faults {
		if scope.Has(f.Key) && !f.Retracted() {
			all = append(all, f.Status.Message)
		}
	}
	return all
}

// items implements kubeapi.List.Items.
func (l *list) items(yield func(kubeapi.Object, error) bool) {
	defer l.drop()
	for done := false; !done; {
		l.page = nil
		err := l.advance(func() (bool, *api.Status) {
			var status *api.Status
			done, status = l.next()
			return done || len(l.page) > 0, status
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, item := range l.page {
			if o, err := item.open(); !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// next appends copies of the next objects to l.page, and reports whether they are the
// last. The caller holds the lock.
func (l *list) next() (done bool, status *api.Status) {
	size := 0
	done, status = l.pages.Next(func(from *cacher.Cacher, ref store.Ref) (more bool) {
		item := copyVersion(from, ref, from.Arena().ResourceVersion(ref))
		l.page = append(l.page, item)
		size += item.size()
		return size < listBytes
	})
	l.hold(size)
	return done, status
}

// hold sets the size of the copies, which Stats.ListBytes includes. The caller holds the
// lock.
func (l *list) hold(size int) {
	l.connector.listBytes += size - l.held
	l.held = size
}

// drop releases the copies and removes the list from the users of its client's allowance.
func (l *list) drop() {
	l.page = nil
	l.connector.mu.Lock()
	defer l.connector.mu.Unlock()
	l.hold(0)
	l.connector.leaveAllowance(l.allowance)
	l.allowance = nil
}
