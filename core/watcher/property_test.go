package watcher_test

import (
	"math/rand"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/watcher"
)

// dumb is a simple model of a watch, without queues. It processes every change
// immediately and reports the events for the selector app=web.
type dumb struct{ matching map[api.Key]bool }

func (d *dumb) see(f *feed, e *history.Event) (string, bool) {
	ref := e.Current
	if ref == 0 {
		ref = e.Previous
	}
	key := api.Key(append([]byte(nil), f.arena.Key(ref)...))
	value, _ := f.arena.LabelsOf(ref).Get("app")
	before, after := d.matching[key], e.Current != 0 && value == "web"
	d.matching[key] = after
	name := string(key) + "@" + e.ResourceVersion.String()
	switch {
	case before && after:
		return "MODIFIED " + name, true
	case after:
		return "ADDED " + name, true
	case before:
		return "DELETED " + name, true
	}
	return "", false
}

// A watch that starts at any version and is read at random times delivers the same events
// as the model. A watch that is too slow delivers a prefix of these events, without gaps
// (W38).
func TestW38_WatchAgreesWithASynchronousReader(t *testing.T) {
	complete, cut := 0, 0
	for seed := range int64(300) {
		random := rand.New(rand.NewSource(seed))
		f := newFeed(t, 10_000)
		d := &dumb{map[api.Key]bool{}}
		change := func() *history.Event {
			name := "ns/" + strconv.Itoa(random.Intn(6))
			if f.state.Get(api.Key(name)) != 0 && random.Intn(4) == 0 {
				return f.do("-" + name)
			}
			return f.do(name + [...]string{" app=web", " app=db"}[random.Intn(2)])
		}
		var all []string
		var at []api.ResourceVersion
		record := func(e *history.Event) {
			if text, ok := d.see(f, e); ok {
				all, at = append(all, text), append(at, e.ResourceVersion)
			}
		}
		for range 50 {
			record(change())
		}
		from := api.ResourceVersion(1 + random.Intn(int(f.rv)))
		w := f.watch(watcher.Options{
			QueueSize: 1 + random.Intn(20), Filter: f.filter("", "app=web", ""), Initial: f.since(from), Watermark: from,
		})
		greed := 1 + random.Intn(8)
		var got []string
		slow := false
		for range 300 {
			e := *change()
			record(&e)
			if !slow && !w.TryAdd(&e) {
				w.Run()
				if !w.TryAdd(&e) {
					w.Terminate()
					slow = true
				}
			}
			w.Run()
			if random.Intn(3) == 0 {
				for range random.Intn(greed * 2) {
					got = append(got, takeOne(f, w)...)
				}
			}
		}
		if !slow {
			w.Stop(true)
		}
		got = append(got, f.take(w)...)
		require.True(t, w.Finished())
		var want []string
		for i, text := range all {
			if at[i] > from {
				want = append(want, text)
			}
		}
		if slow {
			cut++
			require.LessOrEqual(t, len(got), len(want))
			want = want[:len(got)]
		} else {
			complete++
		}
		require.Equal(t, want, got, "seed %d", seed)
		f.assertNoLeak()
	}
	assert.Greater(t, complete, 20, "some watches keep up")
	assert.Greater(t, cut, 20, "some watches do not keep up")
}

func takeOne(f *feed, w *watcher.Watcher) []string {
	w.Run()
	d, ok := w.Take()
	if !ok {
		return nil
	}
	defer f.arena.Release(d.Content)
	return []string{d.Type.String() + " " + string(append([]byte(nil), f.arena.Key(d.Content)...)) + "@" + d.ResourceVersion.String()}
}
