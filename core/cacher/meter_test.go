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
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/watcher"
)

// metered is a watch with a meter.
type metered struct {
	*watcher.Watcher
	world   *world
	meter   watcher.Meter
	waiting int // number of calls of Exhausted
	got     []string
}

func (w *world) startMetered(opt cacher.WatchOptions) *metered {
	m := &metered{world: w}
	opt.Meter, opt.Exhausted = &m.meter, func() { m.waiting++ }
	opt.Sink = func(d watcher.Delivery) bool {
		m.got = append(m.got, objects.Delivery(w.Arena(), d))
		w.Arena().Release(d.Content)
		return true
	}
	m.Watcher = w.start(opt)
	return m
}

// grant grants evaluations and returns the resulting events.
func (m *metered) grant(n int) []string {
	m.meter.Grant(n)
	m.Run()
	return m.take()
}

func (m *metered) take() []string {
	got := m.got
	m.got = nil
	return got
}

func running(opt cacher.WatchOptions) cacher.WatchOptions {
	opt.Selection = objects.Select("", "status.phase=Running")
	return opt
}

func TestB26_ExhaustedMeterStopsEvaluation(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1 phase=Running")
	m := w.startMetered(running(since("10")))
	m.grant(1)
	w.do("ns/a rv=11 phase=Running") // costs two evaluations, one more than granted
	assert.Equal(t, []string{"MODIFIED ns/a@11"}, m.take())
	spent := m.Filter().Evaluations()
	w.do("ns/a rv=12 phase=Running", "ns/b rv=13 phase=Running", "-ns/a rv=14", "ns/b rv=15 phase=Failed")
	assert.Empty(t, m.take())
	assert.Equal(t, spent, m.Filter().Evaluations())
	assert.True(t, m.Starved())
	assert.Equal(t, 1, m.waiting, "one call, independent of the number of events")

	assert.Empty(t, m.grant(1), "the debt is paid")
	assert.Equal(t, []string{"MODIFIED ns/a@12"}, m.grant(1))
	assert.Equal(t, []string{"ADDED ns/b@13", "DELETED ns/a@14", "DELETED ns/b@15"}, m.grant(100))
	assert.False(t, m.Starved())
	w.assertNoLeak()
}

func TestInitialEventsOfAMeteredWatchAreCollectedInParts(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1 phase=Running", "ns/b rv=2 phase=Failed", "ns/c rv=3 phase=Running", "ns/d rv=4 phase=Running")
	m := w.startMetered(running(cacher.WatchOptions{Bookmarks: true}))
	assert.Empty(t, m.grant(2))
	w.do("ns/a rv=11 phase=Failed", "-ns/c rv=12", "ns/e rv=13 phase=Running")
	assert.Empty(t, m.grant(2), "events wait for the complete state")
	w.pass(60_000)
	assert.Empty(t, m.grant(2), "no bookmark overtakes them")
	assert.Equal(t, []string{"ADDED ns/a@1", "ADDED ns/c@3", "ADDED ns/d@4", "BOOKMARK @10 end"}, m.grant(1), "the initial state")
	assert.Equal(t, []string{"DELETED ns/a@11", "DELETED ns/c@12", "ADDED ns/e@13"}, m.grant(100))
	assert.EqualValues(t, 4+4, m.Filter().Evaluations(), "each object of the state is evaluated once")
	w.assertNoLeak()
}

func TestAMeteredWatchThatIsOvertakenEndsWith410(t *testing.T) {
	for name, opt := range map[string]cacher.WatchOptions{"live": since("10"), "initial events": {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, history.Limits{MinCapacity: 4, MaxCapacity: 4})
			w.list(10, "ns/a rv=1 phase=Running")
			m := w.startMetered(running(opt))
			for rv := 11; rv < 30; rv++ {
				w.do(fmt.Sprintf("ns/a rv=%d phase=Running", rv))
			}
			assert.Empty(t, m.grant(100))
			assert.True(t, m.Finished())
			require.NotNil(t, m.Status())
			assert.Equal(t, 410, m.Status().Code)
			assert.Equal(t, "Overtaken", m.Status().Cause)
			assert.Equal(t, api.WatchEndOvertaken, m.Ending().Reason)
			w.assertNoLeak()
		})
	}
}

func TestAMeteredWatchSurvivesARelist(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1 phase=Running", "ns/b rv=2 phase=Failed")
	m := w.startMetered(running(stalling("10")))
	w.do("ns/a rv=11 phase=Running", "ns/b rv=12 phase=Failed")
	w.list(20, "ns/b rv=15 phase=Running", "ns/c rv=16 phase=Failed")
	assert.Zero(t, m.Filter().Evaluations(), "a relist causes no evaluations")
	assert.Equal(t, []string{"MODIFIED ns/a@11", "ADDED ns/b@15", "DELETED ns/a@19 unknown"}, m.grant(100))
	w.assertNoLeak()
}

// A meter does not change the policy that the client sees, even while it is exhausted.
func TestC3_RelistEndsMeteredKubernetesWatches(t *testing.T) {
	for name, c := range map[string]struct {
		granted int
		left    []string // objects of n1/a, n1/b and n2/c in the new list
		ends    bool
	}{
		"deleted":                          {100, []string{"n1/b rv=2", "n2/c rv=3 phase=Running"}, true},
		"deleted, exhausted":               {0, []string{"n1/b rv=2", "n2/c rv=3 phase=Running"}, true},
		"not selected":                     {100, []string{"n1/a rv=1 phase=Running", "n2/c rv=3 phase=Running"}, false},
		"not selected, exhausted":          {0, []string{"n1/a rv=1 phase=Running", "n2/c rv=3 phase=Running"}, false},
		"in another namespace":             {100, []string{"n1/a rv=1 phase=Running", "n1/b rv=2"}, false},
		"in another namespace, exhausted":  {0, []string{"n1/a rv=1 phase=Running", "n1/b rv=2"}, false},
		"new at an old version, exhausted": {0, []string{"n1/a rv=1 phase=Running", "n1/b rv=2", "n2/c rv=3 phase=Running", "n1/d rv=4"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := listed(t, 10, "n1/a rv=1 phase=Running", "n1/b rv=2", "n2/c rv=3 phase=Running")
			opt := cacher.WatchOptions{ResourceVersion: "10", Namespace: "n1", Selection: objects.Select("", "status.phase!=Failed,status.phase!=")}
			m := w.startMetered(opt)
			m.grant(c.granted)
			w.list(20, c.left...)
			m.grant(100)
			assert.Equal(t, c.ends, m.Finished())
			if c.ends {
				assert.Equal(t, api.WatchEndOvertaken, m.Ending().Reason)
			}
			w.assertNoLeak()
		})
	}
}

func TestWatchWithoutSelectorsDoesNotUseTheMeter(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1", "ns/b rv=2")
	m := w.startMetered(cacher.WatchOptions{Namespace: "ns"})
	assert.Equal(t, []string{"ADDED ns/a@1", "ADDED ns/b@2"}, m.take())
	w.do("ns/a rv=11")
	assert.Equal(t, []string{"MODIFIED ns/a@11"}, m.take())
	assert.False(t, m.Stalls())
	assert.Zero(t, m.waiting)
	w.assertNoLeak()
}

// A metered watch delivers the same events as a watch without a meter, for any
// grants.
func TestB26_MeteredWatchDeliversTheSameEvents(t *testing.T) {
	for seed := range uint64(300) {
		random := lite.NewRand(seed)
		w := listed(t, 10, "ns/a rv=5 phase=Running", "ns/b rv=6 app=web", "ns/c rv=7 phase=Failed app=web")
		opt := cacher.WatchOptions{Policy: api.PolicyStall}
		if random.Int63n(2) == 0 {
			opt = since("10")
			opt.Policy = api.PolicyStall
		}
		opt.Selection = objects.Select([]string{"", "app=web", "app!=web"}[random.Int63n(3)], "status.phase=Running")
		m, free := w.startMetered(opt), w.start(opt)
		var got, want []string
		for rv := 11; rv < 60; rv++ {
			name := string("abcd"[random.Int63n(4)])
			switch random.Int63n(5) {
			case 0:
				w.do(fmt.Sprintf("-ns/%s rv=%d", name, rv))
			default:
				w.do(fmt.Sprintf("ns/%s rv=%d phase=%s app=%s", name, rv,
					[]string{"Running", "Failed"}[random.Int63n(2)], []string{"web", "db"}[random.Int63n(2)]))
			}
			if random.Int63n(3) == 0 {
				got = append(got, m.grant(int(random.Int63n(4)))...)
			}
			want = append(want, w.take(free)...)
		}
		got = append(got, m.grant(1000)...)
		require.Equal(t, append([]string{}, want...), append([]string{}, got...), "seed %d", seed)
		w.assertNoLeak()
	}
}

func TestMeteredPagesAreThePagesOfAList(t *testing.T) {
	w := newWorld(t, history.Limits{})
	var items []string
	for i := range 50 {
		items = append(items, fmt.Sprintf("ns/p%02d rv=%d phase=%s", i, i+1, []string{"Running", "Failed"}[i%2]))
	}
	w.list(50, items...)
	for _, limit := range []uint32{0, 1, 7, 25, 26} {
		opt := cacher.ListOptions{Namespace: "ns", Selection: objects.Select("", "status.phase=Running"), Limit: limit}
		want := w.page(opt)
		var meter watcher.Meter
		opt.Meter = &meter
		var p *cacher.Pages
		require.Nil(t, w.List(opt, func(opened *cacher.Pages, status *api.Status) {
			require.Nil(t, status)
			p = opened
		}))
		steps := 0
		until := func(step func() (bool, *api.Status)) {
			for done := false; !done; steps++ {
				require.Less(t, steps, 1000)
				var status *api.Status
				done, status = step()
				require.Nil(t, status)
				meter.Grant(3)
			}
		}
		until(p.Prepare)
		var got []string
		until(func() (bool, *api.Status) {
			some, done, status := read(p, 5)
			got = append(got, some...)
			return done, status
		})
		assert.Equal(t, want, page{got, p.ResourceVersion, p.Continue, p.Remaining}, "limit %d", limit)
		assert.Greater(t, steps, 2)
	}
}
