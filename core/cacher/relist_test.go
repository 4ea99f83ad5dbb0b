package cacher_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// observer records its notifications and checks the state during each.
type observer struct {
	*world
	seen []string
}

// observed adds an observer, and returns a function that removes it.
func (w *world) observed() (o *observer, stop func()) {
	o = &observer{world: w, seen: []string{}}
	w.Observe(o)
	return o, func() { w.Unobserve(o) }
}

// Changed implements cacher.Observer.
func (o *observer) Changed(id store.ID, e *history.Event) {
	assert.Equal(o.t, e.Current, o.State().Version(id))
	assert.Zero(o.t, e.FinalStateUnknown)
	o.seen = append(o.seen, objects.Ref(o.Arena(), e.Previous)+" > "+objects.Ref(o.Arena(), e.Current)+" at "+e.ResourceVersion.String())
}

// Replaced implements cacher.Observer.
func (o *observer) Replaced() {
	text := "replaced by"
	o.State().Objects(func(id store.ID, ref store.Ref) bool {
		assert.Equal(o.t, id, o.State().Find(o.Arena().Key(ref)))
		text += " " + objects.Ref(o.Arena(), ref)
		return true
	})
	o.seen = append(o.seen, text)
}

func TestObserversSeeEveryChange(t *testing.T) {
	w := newWorld(t, history.Limits{})
	o, stop := w.observed()
	w.list(10, "ns/a rv=5", "ns/b rv=3")
	w.do("ns/a rv=11", "-ns/b rv=12", "-ns/b rv=13", "ns/a rv=11", "ns/a rv=7")
	assert.Equal(t, []string{
		"replaced by ns/a@5 ns/b@3", "ns/a@5 > ns/a@11 at 11", "ns/b@3 > - at 12",
	}, o.seen, "W29, and repetitions are none")
	assert.EqualValues(t, 13, w.ResourceVersion())
	stop()
	w.do("ns/a rv=14")
	assert.Len(t, o.seen, 3)
}

func TestH6_RelistIsAtomicAndSendsTheDifference(t *testing.T) {
	w := listed(t, 10, "ns/same rv=1 app=web", "ns/changed rv=2 app=web", "ns/gone rv=3 app=web", "ns/left rv=4 app=web")
	x, web := w.start(stalling("10")), w.start(cacher.WatchOptions{
		ResourceVersion: "10", Selection: objects.Select("app=web", ""), Policy: api.PolicyStall,
	})
	w.do("ns/a rv=11")
	w.take(x)
	w.take(web)
	o, _ := w.observed()
	generation := w.Window().Generation()

	w.Listing().Begin()
	for _, item := range []string{"ns/new rv=19", "ns/same rv=1 app=web", "ns/changed rv=15 app=web", "ns/left rv=17 app=db", "ns/a rv=11"} {
		w.Listing().Object(objects.Update(item))
	}
	loaded, ok := w.Listing().Len()
	assert.True(t, ok)
	assert.Equal(t, 5, loaded)
	assert.Empty(t, o.seen, "R11: readers see the old state until the list ends")
	assert.Equal(t, page{[]string{"ns/a@11", "ns/changed@2", "ns/gone@3", "ns/left@4", "ns/same@1"}, 11, "", 0}, w.page(cacher.ListOptions{}))
	w.Listing().End(20, w.now)

	assert.Equal(t, []string{"replaced by ns/a@11 ns/changed@15 ns/left@17 ns/new@19 ns/same@1"}, o.seen)
	assert.Equal(t, []string{
		"MODIFIED ns/changed@15", "MODIFIED ns/left@17", "ADDED ns/new@19", "DELETED ns/gone@19 unknown",
	}, w.take(x), "in version order, deletions last, no events for unchanged objects")
	assert.Equal(t, []string{"MODIFIED ns/changed@15", "DELETED ns/left@17", "DELETED ns/gone@19 unknown"}, w.take(web))
	assert.Equal(t, generation+1, w.Window().Generation())
	_, ok = w.Listing().Len()
	assert.False(t, ok)
	assert.EqualValues(t, 20, w.ResourceVersion())

	_, status := w.tryStart(since("19"))
	assert.Equal(t, api.Expired("too old resource version: 19 (20)"), status)
	w.do("ns/a rv=21")
	assert.Equal(t, []string{"MODIFIED ns/a@21"}, w.take(x))
	w.assertNoLeak()
}

// PolicyStall and PolicyConflate, which clients in the same process use, deliver the
// deletions that a relist found. A client of the Kubernetes API might lose its connection
// between two events, resume after the first, and miss the rest.
func TestC3_RelistEndsKubernetesWatchesThatMissedADeletion(t *testing.T) {
	w := listed(t, 10, "ns/changed rv=2 app=web", "ns/gone rv=3 app=web", "ns/left rv=4 app=db")
	all, web := w.start(since("10")), w.start(cacher.WatchOptions{ResourceVersion: "10", Selection: objects.Select("app=web", "")})
	db := w.start(cacher.WatchOptions{ResourceVersion: "10", Selection: objects.Select("app!=web", "")}) // candidate for all objects
	stalling, merging := w.start(stalling("10")), w.start(conflating("10"))
	w.list(20, "ns/changed rv=15 app=web", "ns/left rv=17 app=web")

	for _, x := range []*watcher.Watcher{all, web} {
		assert.Empty(t, w.take(x), "not even the changes whose versions are known")
		assert.True(t, x.Finished())
		assert.Equal(t, api.WatchEndOvertaken, x.Ending().Reason)
		assert.ErrorIs(t, x.Status(), api.Expired(""))
	}
	assert.Equal(t, []string{"DELETED ns/left@17"}, w.take(db), "an object that no longer matches is not deleted")
	for _, x := range []*watcher.Watcher{stalling, merging} {
		assert.Equal(t, []string{"MODIFIED ns/changed@15", "MODIFIED ns/left@17", "DELETED ns/gone@19 unknown"}, w.take(x))
	}
	w.do("ns/left rv=21 app=db")
	assert.Equal(t, []string{"ADDED ns/left@21"}, w.take(db))
	w.assertNoLeak()
}

// G8: a consumer stops after any event of a relist, and resumes after the version of that
// event. The consumer then receives either the rest or a 410.
func TestG8_ResumingInsideARelistLosesNothing(t *testing.T) {
	for name, lists := range map[string]struct {
		rv    api.ResourceVersion
		items []string
	}{
		"deletions":                     {20, []string{"ns/b rv=2"}},
		"the newest object is the list": {20, []string{"ns/b rv=20", "ns/e rv=15"}},
		"an older version":              {20, []string{"ns/a rv=9", "ns/b rv=11", "ns/d rv=4"}},
		"the next version":              {11, []string{"ns/a rv=1", "ns/b rv=2", "ns/c rv=3"}},
		"everything":                    {20, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for taken := 0; ; taken++ {
				w := listed(t, 10, "ns/a rv=1", "ns/b rv=2", "ns/c rv=3", "ns/d rv=4")
				state := map[string]bool{"ns/a": true, "ns/b": true, "ns/c": true, "ns/d": true}
				x := w.start(stalling("10"))
				w.list(lists.rv, lists.items...)
				last, n := "10", 0
				for ; n < taken; n++ {
					d, ok := x.Take()
					if !ok {
						break
					}
					last = d.ResourceVersion.String()
					state[string(w.Arena().Key(d.Content))] = d.Type != api.Deleted
					w.Arena().Release(d.Content)
					x.Run()
				}
				resumed, status := w.tryStart(stalling(last))
				if status == nil {
					for _, event := range w.take(resumed) {
						fields := strings.Fields(event)
						key, _, _ := strings.Cut(fields[1], "@")
						state[key] = fields[0] != "DELETED"
					}
					for key, exists := range state {
						assert.Equal(t, w.State().Get(api.Key(key)) != 0, exists, "%s, after %d events and from %s", key, n, last)
					}
				} else {
					assert.Equal(t, 410, status.Code)
				}
				if n < taken {
					assert.Positive(t, n, "the relist changed nothing")
					return
				}
			}
		})
	}
}

// If a source lists another state at the same version, all watches end. No event could
// have a version between the two states.
func TestRelistAtTheSameVersionWithAnotherStateEndsWatches(t *testing.T) {
	for name, items := range map[string][]string{
		"an object is missing":     {"ns/a rv=1"},
		"an object is new":         {"ns/a rv=1", "ns/b rv=2", "ns/c rv=3"},
		"another version":          {"ns/a rv=9", "ns/b rv=2"},
		"the newest version":       {"ns/a rv=10", "ns/b rv=2"},
		"the same, with more data": {`ns/a rv=1 body={"kind":"Pod"}`, "ns/b rv=2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := listed(t, 10, "ns/a rv=1", "ns/b rv=2")
			watches := []*watcher.Watcher{w.start(since("10")), w.start(stalling("10")), w.start(conflating("10"))}
			w.list(10, items...)
			for _, x := range watches {
				assert.Empty(t, w.take(x))
				assert.Equal(t, name != "the same, with more data", x.Finished())
			}
			if watches[0].Finished() {
				assert.ErrorIs(t, watches[0].Status(), api.Expired(""))
			}
			w.assertNoLeak()
		})
	}
}

func TestUnfinishedListHasNoEffect(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1")
	w.Listing().Begin()
	w.Listing().Object(objects.Update("ns/b rv=11"))
	w.Listing().Begin() // starts over
	w.Listing().Object(objects.Update("ns/c rv=12"))
	w.Listing().Abort()
	w.Listing().Abort()
	assert.Equal(t, []string{"ns/a@1"}, w.page(cacher.ListOptions{}).items)
	w.assertNoLeak()
}

// Changes that arrive during a list are merged by version.
func TestListMergesChangesByVersion(t *testing.T) {
	w := newWorld(t, history.Limits{})
	w.Listing().Begin()
	for _, item := range []string{"ns/a rv=1", "ns/a rv=12", "ns/a rv=1", "ns/b rv=2", "ns/c rv=13", "ns/d rv=4"} {
		w.Listing().Object(objects.Update(item))
	}
	w.Listing().Delete("ns/b", 14)
	w.Listing().Delete("ns/c", 11) // older than the version in the list
	w.Listing().Delete("ns/x", 15)
	assert.False(t, w.Ready())
	w.Listing().End(15, w.now)
	assert.True(t, w.Ready())
	assert.Equal(t, page{[]string{"ns/a@12", "ns/c@13", "ns/d@4"}, 15, "", 0}, w.page(cacher.ListOptions{}))
	w.assertNoLeak()
}

// If a relist contains a stored version with a different envelope, the version is
// stored again but causes no event.
func TestRelistWithOtherBodies(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1", "ns/b rv=2")
	old := w.State().Get("ns/b")
	x := w.start(since("10"))
	w.do("ns/c rv=11")
	w.take(x)
	w.list(20, `ns/a rv=1 body={"kind":"Pod"}`, "ns/b rv=2", "ns/c rv=11")
	assert.Equal(t, `{"kind":"Pod"}`, string(w.Arena().Envelope(w.State().Get("ns/a")).Body().Data))
	assert.Equal(t, old, w.State().Get("ns/b"), "shared, not copied")
	assert.Empty(t, w.take(x), "G15: no version is delivered twice")
	w.Bodies().SetDictionary([]byte("d"))
	w.list(30, `ns/a rv=1 body={"kind":"Pod"}`, "ns/b rv=2", "ns/c rv=11")
	assert.Equal(t, "d", string(w.Bodies().Dictionary(w.State().Get("ns/a"))), "a body is read with its own dictionary")
	assert.Empty(t, w.take(x))
	w.assertNoLeak()
}

// A relist can contain versions that are older than the last event of a watch. The
// watch missed these versions and receives them last.
func TestRelistSendsMissedChanges(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1 app=web")
	x, web := w.start(since("10")), w.start(cacher.WatchOptions{ResourceVersion: "10", Selection: objects.Select("app=web", "")})
	w.do("ns/b rv=15")
	w.take(x)
	w.list(20, "ns/a rv=12 app=db", "ns/b rv=15", "ns/c rv=13", "ns/d rv=16")
	assert.Equal(t, []string{"ADDED ns/d@16", "MODIFIED ns/a@12", "ADDED ns/c@13"}, w.take(x))
	assert.Empty(t, w.take(web), "C3: an object left its selection at an unknown version")
	assert.ErrorIs(t, web.Status(), api.Expired(""))
	w.assertNoLeak()
}

func TestW33_RelistEndsUnreadHistory(t *testing.T) {
	w := listed(t, 10)
	for range 101 {
		w.do("ns/a rv=" + (w.ResourceVersion() + 1).String())
	}
	x := w.start(since("10")) // reads one hundred events
	w.list(200, "ns/a rv=111")
	assert.Len(t, w.take(x), 100)
	assert.True(t, x.Finished())
	w.assertNoLeak()
}

// A watch first delivers the events that it read before a relist, and then the
// difference.
func TestH17_RelistAfterTheHistoryWasRead(t *testing.T) {
	w := listed(t, 10)
	for range 12 {
		w.do("ns/a rv=" + (w.ResourceVersion() + 1).String())
	}
	x := w.start(conflating("10"))
	w.list(30, "ns/b rv=29")
	after := w.take(x)
	assert.Len(t, after, 14)
	assert.Equal(t, []string{"MODIFIED ns/a@22", "ADDED ns/b@29", "DELETED ns/a@29 unknown"}, after[11:])
	assert.False(t, x.Finished())
}

// A relist does not wait for slow consumers.
func TestRelistTerminatesSlowConsumers(t *testing.T) {
	w := listed(t, 10)
	slow, patient := w.start(since("10")), w.start(conflating("10"))
	w.pass(5000)
	w.fill(slow)
	w.do("ns/a rv=31")
	require.False(t, slow.Stopped())
	w.list(40, "ns/b rv=35")
	assert.True(t, slow.Stopped())
	assert.Equal(t, []string{"ADDED ns/fill@11"}, w.take(patient)[:1])
	w.assertNoLeak()
}

// A source restored from a backup goes back in time. Existing watches end; new
// ones see the new state.
func TestT12_SourceWithDecreasingVersions(t *testing.T) {
	w := listed(t, 100, "ns/a rv=90")
	x := w.start(withMarks)
	w.list(50, "ns/a rv=40")
	assert.Equal(t, []string{"ADDED ns/a@90", "BOOKMARK @100 end"}, w.take(x))
	assert.True(t, x.Finished())
	assert.Equal(t, 410, x.Status().Code, "after a normal end, the client would resume from a version of another history")
	assert.EqualValues(t, 50, w.ResourceVersion(), "H6")
	again := w.start(withMarks)
	w.do("ns/a rv=51")
	assert.Equal(t, []string{"ADDED ns/a@40", "BOOKMARK @50 end", "MODIFIED ns/a@51"}, w.take(again))
	w.assertNoLeak()
}

// A watch that started at a version between two lists ends with 410, because the
// changes after that version are unknown.
func TestWatchFromBetweenTwoListsEndsWith410(t *testing.T) {
	w := listed(t, 10, "ns/a rv=5")
	x := w.start(since("15"))
	w.list(20, "ns/a rv=12")
	assert.True(t, x.Finished())
	assert.Equal(t, 410, x.Status().Code)
	w.assertNoLeak()
}

func TestAnotherSourceEndsWatchesWith410(t *testing.T) {
	w := newWorld(t, history.Limits{})
	w.Upstream().SetClusterID("one")
	w.list(10, "ns/a rv=5")
	x := w.start(since("10"))
	w.Upstream().SetClusterID("two")
	w.list(30, "ns/a rv=25")
	assert.True(t, x.Finished())
	assert.Equal(t, 410, x.Status().Code)
	w.assertNoLeak()
}

func TestH14_Progress(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1")
	o, _ := w.observed()
	w.now += 500
	w.Progress(15, w.now)
	assert.EqualValues(t, 15, w.ResourceVersion())
	assert.EqualValues(t, w.now, w.Upstream().Progressed())
	w.Progress(12, w.now+1)
	assert.EqualValues(t, 15, w.ResourceVersion(), "versions never decrease")
	assert.Empty(t, o.seen)
	between := w.page(cacher.ListOptions{ResourceVersion: "12", Match: api.MatchExact})
	assert.Equal(t, page{[]string{"ns/a@1"}, 12, "", 0}, between, "C44")
}

func TestC53_Faults(t *testing.T) {
	broken := api.Internal("broken")
	fault := func(key api.Key, rv api.ResourceVersion) cacher.Fault {
		return cacher.Fault{Key: key, ResourceVersion: rv, Status: broken}
	}
	faults := func(w *world) []cacher.Fault {
		list, _ := w.Faults()
		return append([]cacher.Fault{}, list...)
	}
	w := listed(t, 10, "ns/a rv=5", "ns/b rv=6")
	_, before := w.Faults()
	w.Fault("ns/a", 11, broken, w.now)
	w.Fault("ns/c", 12, broken, w.now)
	list, mark := w.Faults()
	assert.Equal(t, []cacher.Fault{fault("ns/a", 11), fault("ns/c", 12)}, list)
	assert.Equal(t, before+2, mark)
	assert.Equal(t, []string{"ns/a@5", "ns/b@6"}, w.page(cacher.ListOptions{}).items, "the last good version remains")
	assert.EqualValues(t, 10, w.ResourceVersion(), "earlier changes may still arrive")

	w.do("ns/a rv=5")
	assert.Len(t, faults(w), 2, "repeating the last good version does not clear the fault")
	w.do("ns/a rv=13")
	replaced := cacher.Fault{Key: "ns/a", ResourceVersion: 13, Status: api.NotFound("ns/a was replaced")}
	assert.Equal(t, []cacher.Fault{fault("ns/c", 12), replaced}, faults(w), "watches that do not match receive no event")
	w.do("-ns/c rv=14")
	gone := cacher.Fault{Key: "ns/c", ResourceVersion: 14, Status: api.NotFound("ns/c was deleted")}
	assert.Equal(t, []cacher.Fault{replaced, gone}, faults(w), "no event reports its removal")

	w.Fault("ns/b", 15, broken, w.now)
	w.Fault("ns/b", 16, broken, w.now)
	assert.Equal(t, []cacher.Fault{replaced, gone, fault("ns/b", 16)}, faults(w), "one for each key")

	w.Listing().Begin()
	w.Fault("ns/x", 17, broken, w.now)
	w.Fault("ns/y", 18, broken, w.now)
	w.Fault("ns/z", 19, broken, w.now)
	w.Listing().Object(objects.Update("ns/x rv=17"))
	w.Listing().Object(objects.Update("ns/y rv=3")) // the last good version
	w.Listing().Delete("ns/z", 20)
	assert.Equal(t, []cacher.Fault{replaced, gone, fault("ns/b", 16)}, faults(w))
	_, mark = w.Faults()
	w.Listing().End(20, w.now)
	assert.Equal(t, []cacher.Fault{fault("ns/y", 18)}, faults(w))
	_, after := w.Faults()
	assert.Greater(t, after, mark)
}

func TestC53_FaultsAreBounded(t *testing.T) {
	w := listed(t, 10)
	for rv := api.ResourceVersion(11); rv < 3000; rv++ {
		w.Fault(api.Key("ns/"+rv.String()), rv, api.Internal("broken"), w.now)
	}
	list, mark := w.Faults()
	assert.Len(t, list, 1000)
	assert.EqualValues(t, "ns/2999", list[999].Key)
	assert.Equal(t, 2989, mark)
}

func TestDictionaries(t *testing.T) {
	w := listed(t, 10)
	_, none := w.Bodies().Current()
	assert.Nil(t, none)
	first := []byte("one")
	w.Bodies().SetDictionary(first)
	first[0] = 'x'
	w.do("ns/a rv=11")
	w.Bodies().SetDictionary([]byte("two"))
	w.do("ns/b rv=12")
	w.Bodies().SetDictionary([]byte("one"))
	w.do("ns/c rv=13")
	w.Bodies().SetDictionary(nil)
	w.do("ns/d rv=14")
	var got []string
	for _, key := range []api.Key{"ns/a", "ns/b", "ns/c", "ns/d"} {
		got = append(got, string(w.Bodies().Dictionary(w.State().Get(key))))
	}
	assert.Equal(t, []string{"one", "two", "one", ""}, got)
}

// A watch that started at a future version ends when a relist sets a newer version.
// The consumer of the watch may have objects that are in neither the old nor the new
// state.
func TestWatchAheadOfItsCollectionEndsWithARelistPastIt(t *testing.T) {
	w := listed(t, 10, "ns/a rv=5")
	ahead, further, level := w.start(since("15")), w.start(since("25")), w.start(since("20"))
	behind := w.start(since("10"))
	w.list(20, "ns/a rv=18")
	assert.True(t, ahead.Stopped(), "the changes between 15 and 20 are unknown")
	assert.False(t, further.Stopped(), "still ahead of the list")
	assert.False(t, level.Stopped(), "it missed nothing")
	assert.Equal(t, []string{"MODIFIED ns/a@18"}, w.take(behind))
	assert.Empty(t, w.take(ahead))
	_, status := w.tryStart(since("15"))
	require.NotNil(t, status)
	assert.Equal(t, 410, status.Code, "so that the consumer lists again")
	w.do("ns/a rv=21", "ns/a rv=26")
	assert.Equal(t, []string{"MODIFIED ns/a@26"}, w.take(further))
	assert.Equal(t, []string{"MODIFIED ns/a@21", "MODIFIED ns/a@26"}, w.take(level))
	w.assertNoLeak()
}
