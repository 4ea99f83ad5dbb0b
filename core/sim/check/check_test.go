package check_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/sim/check"
)

// history returns the log that all of these tests use:
//
//	revision 1 creates a (web) and b (api)
//	revision 2 changes a
//	revision 3 changes a to api, and creates c (web)
//	revision 4 deletes b
//	revision 5 changes a to web
func history() *check.Log {
	l := check.NewLog()
	for _, line := range []string{"1 a web", "1 b api", "2 a web", "3 a api", "3 c web", "4 b", "5 a web"} {
		w := strings.Fields(line)
		c := check.Change{ResourceVersion: number(w[0]), Key: api.Key(w[1])}
		if len(w) == 3 {
			c.Object = &check.Object{UID: w[1], ResourceVersion: c.ResourceVersion, Labels: map[string]string{"app": w[2]}}
		}
		l.Append(c)
	}
	return l
}

func number(s string) api.ResourceVersion {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return api.ResourceVersion(n)
}

// events parses a text such as "A a@1, M a@2, D b@4, B @4, E @1 | ...". The letters A, M,
// D, B, E and U stand for added, modified, deleted, bookmark, end marker, and deleted at an
// unknown version. A bar ends a delivery. An event has the content of its version in the
// history, unless "=app" sets another app label.
func events(l *check.Log, text string) []check.Event {
	types := map[string]api.EventType{"A": api.Added, "M": api.Modified, "D": api.Deleted, "B": api.Bookmark, "E": api.Bookmark, "U": api.Deleted}
	var list []check.Event
	for batch, part := range strings.Split(text, "|") {
		for _, word := range strings.Split(part, ",") {
			w := strings.Fields(word)
			if len(w) == 0 {
				continue
			}
			key, rv, _ := strings.Cut(w[1], "@")
			rv, app, other := strings.Cut(rv, "=")
			e := check.Event{Type: types[w[0]], Key: api.Key(key), ResourceVersion: number(rv), End: w[0] == "E", Unknown: w[0] == "U", Batch: batch}
			switch {
			case other:
				e.Object = &check.Object{UID: key, Labels: map[string]string{"app": app}}
			case e.Type == api.Deleted:
				e.Object = l.Before(e.Key, e.ResourceVersion)
				for back := e.ResourceVersion; e.Object == nil && back > 0; back-- {
					e.Object = l.Before(e.Key, back)
				}
			case e.Type.IsChange():
				e.Object = l.At(e.Key, e.ResourceVersion)
			}
			list = append(list, e)
		}
	}
	return list
}

func fromState() check.Watch {
	return check.Watch{Request: check.Request{Bookmarks: true}, Opened: 1, Started: 1}
}

func fromVersion(rv api.ResourceVersion) check.Watch {
	return check.Watch{Request: check.Request{Bookmarks: true, Start: check.FromVersion, ResourceVersion: rv}}
}

func web(w check.Watch) check.Watch {
	w.Filter.Labels = "app=web"
	return w
}

func with(w check.Watch, change func(*check.Watch)) check.Watch {
	change(&w)
	return w
}

func complete(w check.Watch) check.Watch { return with(w, func(w *check.Watch) { w.Complete = 5 }) }

func relisted(w check.Watch, from, to api.ResourceVersion) check.Watch {
	return with(w, func(w *check.Watch) { w.Relists = []check.Relist{{From: from, To: to}} })
}

// conflate makes a watch conflating and limited by credit.
func conflate(w *check.Watch) { w.Conflating, w.Limited = true, true }

func limit(w *check.Watch) { w.Limited = true }

const (
	allFromState = "A a@1, A b@1, E @1 | M a@2 | M a@3, A c@3 | D b@4 | M a@5"
	webFromState = "A a@1, E @1 | M a@2 | D a@3, A c@3 | A a@5"
)

func TestValidators(t *testing.T) {
	for _, test := range []struct {
		name   string
		watch  check.Watch
		events string
		err    error
	}{
		// Valid histories.
		{"everything from the state", complete(fromState()), allFromState, nil},
		{"with a selector", complete(web(fromState())), webFromState, nil},
		{"nothing yet", fromState(), "", nil},
		{"cut short in the initial events", fromState(), "A a@1", nil},
		{"cut short later", fromState(), "A a@1, A b@1, E @1 | M a@2", nil},
		{"without bookmarks", complete(fromState()), "A a@1, A b@1 | M a@2 | M a@3, A c@3 | D b@4 | M a@5", nil},
		{"from a version", complete(fromVersion(2)), "M a@3, A c@3 | D b@4 | M a@5", nil},
		{"from a version with a selector", complete(web(fromVersion(2))), "D a@3, A c@3 | A a@5", nil},
		{"from the newest version", complete(fromVersion(5)), "B @5, B @5", nil},
		{"from the future", complete(fromVersion(9)), "", nil},
		{"bookmarks between revisions", complete(fromVersion(1)), "M a@2, B @2 | M a@3, A c@3, B @3, B @3 | D b@4 | M a@5, B @9", nil},
		{"several revisions at once", complete(fromVersion(1)), "M a@2, M a@3, A c@3, D b@4, M a@5", nil},
		{"a relist delivers the difference", complete(relisted(fromState(), 1, 5)), "A a@1, A b@1, E @1 | A c@3, U b@4, M a@5", nil},
		{"a relist with a selector", complete(web(relisted(fromState(), 2, 4))), "A a@1, E @1 | M a@2 | D a@3, A c@3 | A a@5", nil},
		{"a relist that changes nothing", complete(relisted(fromVersion(4), 4, 4)), "M a@5", nil},
		{"conflated", complete(with(fromVersion(1), conflate)), "A c@3 | D b@4, M a@5, B @5", nil},
		{"split where credit is short", complete(with(fromVersion(2), limit)), "M a@3 | A c@3 | D b@4 | M a@5", nil},
		{"split beside a slow watch", complete(with(fromVersion(2), func(w *check.Watch) { w.Beside = true })), "M a@3 | A c@3 | D b@4 | M a@5", nil},
		{"the marker has the version of the state", complete(fromState()), "A a@3, A b@1, A c@3, E @3 | D b@4 | M a@5", nil},
		{"from the state as of one of several versions", with(complete(fromState()), func(w *check.Watch) { w.Bookmarks, w.Started = false, 3 }),
			"A a@3, A b@1, A c@3 | D b@4 | M a@5", nil},
		{"from the future, with bookmarks", fromVersion(9), "B @9, B @12", nil},
		{"from now, wherever that was", with(fromState(), func(w *check.Watch) { w.Start, w.Opened, w.Started = check.FromNow, 2, 4 }), "D b@4 | M a@5, B @5", nil},
		{"a relist from the state that the watch is ahead of", complete(relisted(fromVersion(3), 1, 5)), "U b@4, M a@5", nil},
		{"two relists", complete(with(fromVersion(1), func(w *check.Watch) { w.Relists = []check.Relist{{From: 1, To: 2}, {From: 3, To: 5}} })),
			"M a@2 | M a@3, A c@3 | U b@4, M a@5", nil},
		{"relists before the watch", complete(with(fromVersion(4), func(w *check.Watch) { w.Relists = []check.Relist{{From: 1, To: 3}, {From: 3, To: 4}} })), "M a@5", nil},
		{"conflating, and fast enough", complete(with(fromVersion(2), func(w *check.Watch) { w.Conflating = true })), "M a@3, A c@3 | D b@4 | M a@5", nil},
		{"conflated from the state", complete(with(fromState(), conflate)), "A a@1, A b@1, E @1 | A c@3, U b@4, M a@5", nil},
		{"conflated, complete before it began", with(fromVersion(4), func(w *check.Watch) { conflate(w); w.Complete = 3 }), "", nil},
		{"conflated from now", with(fromState(), func(w *check.Watch) {
			conflate(w)
			w.Start, w.Opened, w.Started, w.Complete = check.FromNow, 2, 4, 5
		}), "M a@5", nil},
		{"from now", with(fromState(), func(w *check.Watch) { w.Start, w.Opened, w.Started = check.FromNow, 2, 4 }), "D b@4 | M a@5", nil},

		// Filter.
		{"another label", web(fromState()), "A a@1, A b@1", check.ErrFilter},
		{"another namespace", with(fromState(), func(w *check.Watch) { w.Filter.Namespace = "x" }), "A a@1", check.ErrFilter},
		{"outside of the collection", with(fromState(), func(w *check.Watch) { w.Scope.Labels = "app!=web" }), "A a@1", check.ErrFilter},
		{"a deletion of what does not match", web(fromState()), "A a@1, E @1, D b@4", check.ErrFilter},
		{"another field", with(fromState(), func(w *check.Watch) { w.Filter.Fields = "metadata.name=b" }), "A a@1", check.ErrFilter},
		{"an unwanted bookmark", with(fromVersion(1), func(w *check.Watch) { w.Bookmarks = false }), "B @1", check.ErrFilter},

		// Unique.
		{"an event twice", fromVersion(1), "M a@2, M a@2", check.ErrUnique},
		{"a revision twice", fromVersion(2), "M a@3, A c@3 | M a@3, A c@3", check.ErrUnique},
		{"an initial event again", fromState(), "A a@1, A b@1, E @1 | A b@1", check.ErrUnique},

		// Ordered.
		{"back to an older revision", fromVersion(1), "M a@3, A c@3, M a@2", check.ErrOrdered},
		{"two revisions exchanged", fromVersion(2), "M a@3, A c@3, M a@5, D b@4", check.ErrOrdered},
		{"no marker, and back", with(fromState(), func(w *check.Watch) { w.Bookmarks = false }), "A a@1, A b@1 | M a@3, A c@3, M a@2", check.ErrOrdered},
		{"initial events out of order", fromState(), "A b@1, A a@1, E @1", check.ErrOrdered},
		{"an initial object twice", fromState(), "A a@1, A a@2, A b@1, E @2", check.ErrOrdered},
		{"an object goes back behind the initial events", fromState(), "A a@3, A b@1, A c@3, E @3 | M a@2", check.ErrOrdered},
		{"an object goes back", with(fromVersion(1), conflate), "M a@3, M a@2", check.ErrOrdered},

		// Bookmarkable.
		{"a bookmark overtakes an event", fromVersion(1), "B @2, M a@2", check.ErrBookmarkable},
		{"a bookmark below an event", fromVersion(1), "M a@2, M a@3, A c@3, B @2", check.ErrBookmarkable},
		{"bookmarks go down", fromVersion(1), "M a@2, M a@3, A c@3, D b@4, B @4, B @3", check.ErrBookmarkable},
		{"a bookmark below the start", fromVersion(4), "B @3", check.ErrBookmarkable},
		{"the end below the initial events", fromState(), "A a@3, A b@1, A c@3, E @2", check.ErrBookmarkable},
		{"a bookmark at the version of an event after it", fromVersion(1), "M a@2, B @3, M a@3, A c@3", check.ErrBookmarkable},
		{"the end is marked twice", fromState(), "A a@1, A b@1, E @1, E @1", check.ErrBookmarkable},

		// Atomic.
		{"a revision split", fromVersion(2), "M a@3 | A c@3", check.ErrAtomic},
		{"a split without a slow watch", with(fromVersion(2), func(w *check.Watch) { w.Conflating = true }), "M a@3 | A c@3", check.ErrAtomic},
		{"a relist split", relisted(fromVersion(1), 1, 5), "A c@3 | U b@4, M a@5", check.ErrAtomic},

		// Resumable.
		{"the version itself again", fromVersion(2), "M a@2, M a@3, A c@3", check.ErrResumable},
		{"the first revision is missing", fromVersion(1), "M a@3, A c@3", check.ErrResumable},
		{"an older version", fromVersion(3), "M a@2, D b@4", check.ErrResumable},
		{"conflating, and yet the first is missing", with(fromVersion(1), func(w *check.Watch) { w.Conflating = true }), "M a@3, A c@3", check.ErrResumable},
		{"the first event of a revision is missing", fromVersion(2), "A c@3 | D b@4", check.ErrResumable},

		// Continuable.
		{"deletions at the version of the list", relisted(fromVersion(1), 1, 5), "A c@3, M a@5, U b@5", check.ErrContinuable},
		{"a Kubernetes watch with a deletion at an unknown version", with(relisted(fromVersion(1), 1, 5), func(w *check.Watch) { w.Kubernetes = true }),
			"A c@3, U b@4", check.ErrContinuable},

		// PrevState.
		{"added over an object", fromVersion(1), "M a@2 | A a@3, A c@3", check.ErrPrevState},
		{"modified without one", fromState(), "A a@1, A b@1, E @1 | M a@2 | M a@3, M c@3", check.ErrPrevState},
		{"deleted without one", web(fromState()), "A a@1, E @1 | M a@2 | D a@3, D c@3=web", check.ErrPrevState},
		{"an object that never existed", fromState(), "A a@1, A b@1, E @1 | A z@2=web", check.ErrPrevState},
		{"a version that the object never had", with(fromState(), func(w *check.Watch) { w.Bookmarks = false }), "A a@1, A b@1 | M a@2, M a@3, A c@3, M c@4=web", check.ErrPrevState},
		{"another content", fromVersion(1), "M a@2=db", check.ErrPrevState},
		{"deleted with another content", fromVersion(3), "D b@4=web", check.ErrPrevState},

		// Fold.
		{"an event is missing before a bookmark", fromVersion(2), "M a@3, B @3", check.ErrFold},
		{"an initial object is missing", fromState(), "A a@1, E @1", check.ErrFold},
		{"a deletion is missing before a bookmark", fromVersion(2), "M a@3, A c@3, M a@5, B @5", check.ErrFold},
		{"from now on something is missing", with(fromState(), func(w *check.Watch) { w.Start, w.Opened, w.Started = check.FromNow, 3, 3 }), "M a@5, B @5", check.ErrFold},
		{"a bookmark promises too much", with(fromVersion(1), conflate), "A c@3, B @5", check.ErrFold},

		// Reliable.
		{"a hole", fromVersion(2), "M a@3, A c@3 | M a@5", check.ErrReliable},
		{"an event in a revision is missing", fromVersion(2), "M a@3 | D b@4", check.ErrReliable},
		{"an initial object is missing, no marker", with(complete(fromState()), func(w *check.Watch) { w.Bookmarks = false }),
			"A a@1 | M a@2", check.ErrReliable},
		{"the last event is missing", complete(fromVersion(2)), "M a@3, A c@3 | D b@4", check.ErrReliable},
		{"a deletion is missing after a relist", complete(relisted(fromVersion(1), 1, 5)), "A c@3, M a@5", check.ErrReliable},
		{"an event of a revision that a relist skipped", relisted(fromVersion(1), 2, 5), "M a@2 | M a@3, A c@3", check.ErrReliable},
		{"a difference from another state", complete(relisted(fromVersion(2), 1, 5)), "A c@3, M a@5", check.ErrReliable},
		{"from a state later than it can be", with(fromState(), func(w *check.Watch) { w.Bookmarks, w.Started = false, 2 }), "A a@3, A b@1, A c@3", check.ErrReliable},
		{"conflating, and yet there is a hole", with(fromVersion(1), func(w *check.Watch) { w.Conflating = true }), "M a@2 | M a@3 | D b@4", check.ErrReliable},
		{"it has an object that was deleted", complete(with(fromVersion(1), conflate)), "A c@3, M a@5", check.ErrReliable},
		{"it never converged", complete(with(fromVersion(1), conflate)), "A c@3, D b@4", check.ErrReliable},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, w := history(), test.watch
			w.Name, w.Events = "watch", events(l, test.events)
			err := check.All(l, &w)
			if test.err == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, test.err)
		})
	}
}

// Reliable does not depend on the validators that run before it.
func TestReliableIsIndependent(t *testing.T) {
	for _, test := range []struct {
		name   string
		watch  check.Watch
		events string
	}{
		{"a bookmark before the initial events are complete", fromState(), "A a@1, B @1"},
		{"a bookmark at the version of a later event", fromVersion(2), "M a@3, B @3"},
		{"a bookmark beyond it", fromVersion(2), "M a@3, A c@3, B @4"},
		{"an excess event", fromVersion(4), "M a@5, M a@5"},
		{"the initial events are not complete", with(fromState(), func(w *check.Watch) { w.Complete = 1 }), "A a@1"},
		{"the last version is missing", with(fromVersion(3), func(w *check.Watch) { w.Complete = 4 }), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, w := history(), test.watch
			w.Name, w.Events = "watch", events(l, test.events)
			require.ErrorIs(t, check.Reliable(l, &w), check.ErrReliable)
		})
	}
	l, w := history(), with(fromState(), func(w *check.Watch) { w.Complete = 1 })
	w.Events = events(l, "A a@1, A b@1")
	require.NoError(t, check.Reliable(l, &w), "complete up to the state")
}

// All compares the watches of one collection with each other.
func TestWatchesOfACollectionAgree(t *testing.T) {
	l := history()
	watch := func(w check.Watch, text string) *check.Watch {
		w.Name, w.Events = text, events(l, text)
		return &w
	}
	full := watch(fromState(), allFromState)
	require.NoError(t, check.All(l, full, watch(web(fromState()), webFromState), watch(fromVersion(2), "M a@3, A c@3 | D b@4")))

	require.NoError(t, check.Suffix(l, full, watch(fromVersion(3), "D b@4 | M a@5")))
	require.ErrorIs(t, check.Suffix(l, full, watch(fromVersion(3), "M a@5")), check.ErrSuffix)
	require.ErrorIs(t, check.Suffix(l, watch(fromVersion(2), "A c@3, M a@3"), watch(fromVersion(2), "M a@3, A c@3")), check.ErrSuffix)

	require.NoError(t, check.Suffix(l, full, watch(fromVersion(2), "M a@3, A c@3")), "up to its last event")
	limited := with(fromVersion(2), limit)
	require.ErrorIs(t, check.Suffix(l, full, watch(limited, "M a@3 | D b@4")), check.ErrSuffix, "limited, but complete")
	require.ErrorIs(t, check.Suffix(l, full, watch(with(fromVersion(2), func(w *check.Watch) { w.Conflating = true }), "M a@3 | D b@4")), check.ErrSuffix)
	for _, other := range []check.Watch{
		with(fromVersion(2), conflate),
		web(fromVersion(2)),
		with(fromVersion(2), func(w *check.Watch) { w.Scope.Labels = "app" }),
	} {
		require.NoError(t, check.Suffix(l, full, watch(other, "A c@3 | M a@5")), "other options")
		require.NoError(t, check.Suffix(l, watch(other, "A c@3 | M a@5"), full))
	}

	require.NoError(t, check.Selected(l, full, watch(web(fromVersion(2)), "D a@3, A c@3")), "up to its last event")
	for _, other := range []check.Watch{
		web(with(fromVersion(2), conflate)),
		web(with(fromVersion(2), func(w *check.Watch) { w.Scope.Labels = "app" })),
		fromVersion(2),
	} {
		require.NoError(t, check.Selected(l, full, watch(other, "A c@3 | A a@5")), "other options")
	}
	for _, other := range []check.Watch{with(fromState(), conflate), fromVersion(1), web(fromState())} {
		require.NoError(t, check.Selected(l, watch(other, "M a@2 | M a@3"), watch(web(fromVersion(2)), "A c@3 | A a@5")))
	}
	require.NoError(t, check.Selected(l, full, watch(web(fromVersion(2)), "D a@3, A c@3 | A a@5")))
	require.ErrorIs(t, check.Selected(l, full, watch(web(fromVersion(2)), "A c@3 | A a@5")), check.ErrSelected)
	require.ErrorIs(t, check.Selected(l, full, watch(web(fromVersion(2)), "D a@3, A c@3 | M a@5")), check.ErrSelected)
}

// Objects with a faulty version are not compared, because correct readers may have
// received different versions of them.
func TestFaultyVersionsAreNotCompared(t *testing.T) {
	l := history()
	l.Append(check.Change{ResourceVersion: 6, Key: "c", Object: &check.Object{Faulty: true, ResourceVersion: 6}})
	require.False(t, l.Exact(6))
	require.True(t, l.Exact(5))
	for text, w := range map[string]check.Watch{
		"M a@3 | D b@4, B @4":            fromVersion(2), // c@3 is missing
		"M a@3, A c@3=web | D b@4, B @4": fromVersion(2),
		"A a@1, A b@1, A c@1=web, E @1 | M a@2 | M a@3, B @3, M c@3 | D b@4, M c@3=api | M a@5, B @5": with(fromState(), limit),
	} {
		w.Events = events(l, text)
		err := check.All(l, &w)
		if w.Start == check.FromVersion {
			require.NoError(t, err, text)
			continue
		}
		for _, kind := range []error{check.ErrBookmarkable, check.ErrFold, check.ErrReliable} {
			require.NotErrorIs(t, err, kind, text)
		}
	}
	past := with(fromState(), func(w *check.Watch) { w.Events = events(l, "A a@1, A b@1, E @1 | M a@2, B @3, A c@3") })
	require.ErrorIs(t, check.All(l, &past), check.ErrFold, "a is not tainted")
	require.NoError(t, check.Bookmarkable(l, &past), "c is")
	gone := fromVersion(3)
	gone.Events = events(l, "A c@6=web, A c@7=web")
	require.NoError(t, check.PrevState(l, &gone), "the version before c@6 is unknown")
	begun := fromState()
	begun.Events = events(l, "A a@1, A b@1, E @1, A c@3, A c@3")
	require.ErrorIs(t, check.PrevState(l, &begun), check.ErrPrevState, "a watch from the state has seen the previous version")
}

func TestFilter(t *testing.T) {
	o := &check.Object{Labels: map[string]string{"app": "web", "n": "5"}, Fields: map[string]string{"f": "x"}}
	for selector, want := range map[string]bool{
		"": true, "app": true, "!app": false, "app=web": true, "app!=web": false, "app!=db": true, "app in (a,web)": true,
		"app in (a)": false, "app notin (a)": true, "app notin (web)": false, "tier notin (web)": true,
		"tier in (web)": false, "!tier,app": true, "tier,app": false, "tier!=x,app in (a,web)": true,
		"app == web": true, " app , ! tier ": true, "app != web": false, "app in ( a, web )": true, "app notin(web)": false,
		"app(web)": false, "(web)": false, "app on (web)": false,
		"n>3": true, "n > 5": false, "n<5": false, "n < 6": true, "app<6": false, "tier>1": false,
	} {
		require.Equal(t, want, check.Filter{Labels: selector}.Match("ns/a", o), selector)
	}
	require.True(t, check.Filter{Namespace: "ns", Fields: "f=x,g!=y"}.Match("ns/a", o))
	require.True(t, check.Filter{Fields: "f == x, metadata.name=a,metadata.namespace!=a"}.Match("ns/a", o))
	require.False(t, check.Filter{Fields: "f!=x"}.Match("ns/a", o))
	require.False(t, check.Filter{Namespace: "n"}.Match("ns/a", o))
	require.False(t, check.Filter{}.Match("ns/a", nil))
}

// A selector with a negation matches a version without labels. It does not match a faulty
// version, whose labels are unknown.
func TestFaultyVersionNeverMatched(t *testing.T) {
	l := history()
	l.Append(check.Change{ResourceVersion: 6, Key: "d", Object: &check.Object{Faulty: true, ResourceVersion: 6}})
	notWeb := check.Filter{Labels: "app!=web"}
	require.True(t, l.EverMatched("b", notWeb.Match))
	require.False(t, l.EverMatched("c", notWeb.Match))
	require.False(t, l.EverMatched("d", notWeb.Match))
}
