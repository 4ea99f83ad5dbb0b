package cacher_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
)

// openList opens and prepares a list, which must not wait for a version.
func (w *world) openList(opt cacher.ListOptions) (p *cacher.Pages, status *api.Status) {
	w.t.Helper()
	refused := w.List(opt, func(opened *cacher.Pages, s *api.Status) { p, status = opened, s })
	if refused != nil {
		return nil, refused
	}
	require.True(w.t, p != nil || status != nil, "no reply yet")
	if p != nil {
		done, status := p.Prepare()
		require.True(w.t, done)
		return p, status
	}
	return nil, status
}

// read reads up to the given number of items.
func read(p *cacher.Pages, items int) (got []string, done bool, status *api.Status) {
	done, status = p.Next(func(c *cacher.Cacher, ref store.Ref) bool {
		got = append(got, fmt.Sprintf("%s@%s", c.Arena().Key(ref), c.Arena().ResourceVersion(ref)))
		return len(got) < items
	})
	return got, done, status
}

// slowList is a list that is read while the collection changes.
type slowList struct {
	*cacher.Pages
	want       []string
	generation int
}

func (d *duel) openSlow() {
	s := d.selection()
	opt := cacher.ListOptions{Namespace: s.namespace, Selection: objects.Select(s.labels, s.fields)}
	rv := d.dumb.rv
	if d.random.Intn(2) == 0 {
		rv -= min(api.ResourceVersion(d.random.Intn(20)), rv-1)
		opt.ResourceVersion, opt.Match = rv.String(), api.MatchExact
	}
	if oldest, _ := d.Window().Oldest(); rv < oldest {
		return
	}
	if d.random.Intn(2) == 0 {
		opt.Limit = uint32(1 + d.random.Intn(12))
	}
	atOnce := d.page(opt)
	p, status := d.openList(opt)
	require.Nil(d.t, status)
	require.Equal(d.t, atOnce, page{atOnce.items, p.ResourceVersion, p.Continue, p.Remaining})
	d.slow = append(d.slow, &slowList{p, atOnce.items, d.Window().Generation()})
}

// readSlow reads more items of a list, and compares them with the state at which the list
// was opened.
func (d *duel) readSlow() {
	if len(d.slow) == 0 {
		return
	}
	i := d.random.Intn(len(d.slow))
	l := d.slow[i]
	got, done, status := read(l.Pages, 1+d.random.Intn(4))
	if status != nil {
		oldest, _ := d.Window().Oldest()
		require.True(d.t, l.generation != d.Window().Generation() || l.ResourceVersion < oldest, "all objects are listed")
		require.Equal(d.t, 410, status.Code)
		d.seen["list cut off"]++
		done = true
	} else {
		require.Equal(d.t, l.generation, d.Window().Generation())
		require.LessOrEqual(d.t, len(got), len(l.want))
		require.Equal(d.t, l.want[:len(got)], append([]string{}, got...))
		l.want = l.want[len(got):]
		if done {
			require.Empty(d.t, l.want)
			d.seen["list read slowly"]++
		}
	}
	if done {
		d.slow[i] = d.slow[len(d.slow)-1]
		d.slow = d.slow[:len(d.slow)-1]
	}
}

// One read examines a bounded number of objects, even if none matches.
func TestPagesNextExaminesABoundedNumberOfObjects(t *testing.T) {
	const n = 10_000
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf("ns/p%05d rv=%d", i, i+1))
	}
	w := listed(t, n, items...)
	p, status := w.openList(cacher.ListOptions{Selection: objects.Select("app=web", "")})
	require.Nil(t, status)
	for reads := 1; ; reads++ {
		got, done, status := read(p, 1)
		require.Nil(t, status)
		require.Empty(t, got)
		if done {
			assert.Equal(t, 3, reads)
			return
		}
	}
}

// An open list holds no references, so versions that leave the window are
// freed.
func TestOpenListHoldsNoReferences(t *testing.T) {
	w := newWorld(t, history.Limits{MinCapacity: 4, MaxCapacity: 4})
	w.list(10, "ns/a rv=1", "ns/b rv=2", "ns/c rv=3")
	p, status := w.openList(cacher.ListOptions{})
	require.Nil(t, status)
	_, done, status := read(p, 1)
	require.Nil(t, status)
	require.False(t, done)
	for rv := 11; rv < 20; rv++ {
		w.do(fmt.Sprintf("ns/b rv=%d", rv))
	}
	assert.Equal(t, 3+4, w.Arena().Versions(), "the state and the window are released")
	_, _, status = read(p, 1)
	require.NotNil(t, status)
	assert.Equal(t, 410, status.Code)
	w.assertNoLeak()
}

func TestOpenListEndsAtItsLimit(t *testing.T) {
	w := lists(t)
	p, status := w.openList(cacher.ListOptions{Limit: 2})
	require.Nil(t, status)
	w.do("-ns/a rv=106", "ns/aa rv=107")
	got, done, status := read(p, 10)
	require.Nil(t, status)
	assert.True(t, done)
	assert.Equal(t, []string{"ns/a@101", "ns/b@104"}, got)
	assert.EqualValues(t, 1, p.Remaining)
	assert.NotEmpty(t, p.Continue)
}

func TestOpenedListIsValidated(t *testing.T) {
	w := lists(t)
	for _, c := range []struct {
		opt  cacher.ListOptions
		code int
	}{
		{cacher.ListOptions{ResourceVersion: "x"}, 400},
		{cacher.ListOptions{Selection: objects.Select("", "x=1")}, 400},
		{cacher.ListOptions{ResourceVersion: "99", Match: api.MatchExact}, 410},
		{cacher.ListOptions{Continue: cacher.FormatContinue(99, "a\x00")}, 410},
	} {
		_, status := w.openList(c.opt)
		require.NotNil(t, status)
		assert.Equal(t, c.code, status.Code)
	}
}

func TestC46_SurveyCountsExaminedObjects(t *testing.T) {
	w := listed(t, 100, "n1/a rv=1 app=web", "n1/b rv=2", "n1/c rv=3", "n10/a rv=4", "n2/a rv=5", "n2/b rv=6")
	for _, c := range []struct {
		opt     cacher.ListOptions
		objects int
		rv      api.ResourceVersion
	}{
		{cacher.ListOptions{}, 6, 0},
		{cacher.ListOptions{Namespace: "n1"}, 3, 0},
		{cacher.ListOptions{Namespace: "n3"}, 0, 0},
		{cacher.ListOptions{Selection: objects.Select("", "metadata.namespace=n2")}, 6, 0},
		{cacher.ListOptions{Namespace: "n2", Selection: objects.Select("", "metadata.name=b")}, 1, 0},
		{cacher.ListOptions{Selection: objects.Select("", "metadata.name=a")}, 6, 0},
		{cacher.ListOptions{Selection: objects.Select("app=web", ""), Limit: 1}, 6, 0},
		{cacher.ListOptions{Limit: 2}, 2, 0},
		{cacher.ListOptions{Limit: 2, ResourceVersion: "0"}, 6, 0},
		{cacher.ListOptions{ResourceVersion: "7"}, 6, 7},
		{cacher.ListOptions{Continue: cacher.FormatContinue(101, "n10/a\x00")}, 2, 101},
	} {
		rv, objects, status := c.opt.Survey(w.Cacher)
		require.Nil(t, status, "%+v", c.opt)
		assert.Equal(t, c.objects, objects, "%+v", c.opt)
		assert.Equal(t, c.rv, rv, "%+v", c.opt)
	}
	_, _, status := cacher.ListOptions{ResourceVersion: "x"}.Survey(w.Cacher)
	require.NotNil(t, status)
	assert.Equal(t, 400, status.Code)
}
