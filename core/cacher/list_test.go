package cacher_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
)

// lists returns a collection listed at 100 with changes up to 104:
//
//	at 100: a@50 b@60 d@70     101: a changed   102: c created
//	103: d deleted             104: b changed, and it gets the label
func lists(t *testing.T) *world {
	w := listed(t, 100, "ns/a rv=50 app=web", "ns/b rv=60", "ns/d rv=70 app=web")
	w.do("ns/a rv=101 app=web", "ns/c rv=102", "-ns/d rv=103", "ns/b rv=104 app=web")
	w.Progress(105, w.now)
	return w
}

func TestC39_DecisionTable(t *testing.T) {
	latest := []string{"ns/a@101", "ns/b@104", "ns/c@102"}
	for _, c := range []struct {
		name  string
		opt   cacher.ListOptions
		want  []string
		rv    api.ResourceVersion
		limit bool // there is a next page
	}{
		{"C36 unset: the newest known", cacher.ListOptions{}, latest, 105, false},
		{"C39 0: the newest known", cacher.ListOptions{ResourceVersion: "0"}, latest, 105, false},
		{"C40 0 with limit: no limit", cacher.ListOptions{ResourceVersion: "0", Limit: 1}, latest, 105, false},
		{"C39 version: not older", cacher.ListOptions{ResourceVersion: "101"}, latest, 105, false},
		{"C39 NotOlderThan", cacher.ListOptions{ResourceVersion: "101", Match: api.MatchNotOlderThan}, latest, 105, false},
		{"C39 NotOlderThan 0", cacher.ListOptions{ResourceVersion: "0", Match: api.MatchNotOlderThan}, latest, 105, false},
		{"C39 NotOlderThan with limit", cacher.ListOptions{ResourceVersion: "101", Match: api.MatchNotOlderThan, Limit: 2}, latest[:2], 105, true},
		{"C40 unset with limit", cacher.ListOptions{Limit: 2}, latest[:2], 105, true},
		{"C39 version with limit: exact (legacy)", cacher.ListOptions{ResourceVersion: "102", Limit: 2}, []string{"ns/a@101", "ns/b@60"}, 102, true},
		{"C39 Exact 100", cacher.ListOptions{ResourceVersion: "100", Match: api.MatchExact}, []string{"ns/a@50", "ns/b@60", "ns/d@70"}, 100, false},
		{"C39 Exact 101", cacher.ListOptions{ResourceVersion: "101", Match: api.MatchExact}, []string{"ns/a@101", "ns/b@60", "ns/d@70"}, 101, false},
		{"C39 Exact 102", cacher.ListOptions{ResourceVersion: "102", Match: api.MatchExact}, []string{"ns/a@101", "ns/b@60", "ns/c@102", "ns/d@70"}, 102, false},
		{"C39 Exact 103", cacher.ListOptions{ResourceVersion: "103", Match: api.MatchExact}, []string{"ns/a@101", "ns/b@60", "ns/c@102"}, 103, false},
		{"C44 Exact 105: the requested version", cacher.ListOptions{ResourceVersion: "105", Match: api.MatchExact}, latest, 105, false},
		{"C39 Exact with limit", cacher.ListOptions{ResourceVersion: "102", Match: api.MatchExact, Limit: 3}, []string{"ns/a@101", "ns/b@60", "ns/c@102"}, 102, true},
		{"Exact under a selector", cacher.ListOptions{ResourceVersion: "102", Match: api.MatchExact, Selection: objects.Select("app", "")}, []string{"ns/a@101", "ns/d@70"}, 102, false},
		{"a selector", cacher.ListOptions{Selection: objects.Select("app=web", "")}, []string{"ns/a@101", "ns/b@104"}, 105, false},
		{"C41 nothing matches: empty, not null", cacher.ListOptions{Selection: objects.Select("app=x", "")}, []string{}, 105, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := lists(t)
			p := w.page(c.opt)
			assert.Equal(t, c.want, p.items)
			assert.Equal(t, c.rv, p.rv)
			assert.Equal(t, c.limit, p.next != "")
			w.assertNoLeak()
		})
	}
}

func TestC47_ListRefusals(t *testing.T) {
	token := cacher.FormatContinue(102, "a\x00")
	for _, c := range []struct {
		name string
		opt  cacher.ListOptions
		code int
	}{
		{"C48 no number", cacher.ListOptions{ResourceVersion: "x"}, 400},
		{"C48 negative", cacher.ListOptions{ResourceVersion: "-1"}, 400},
		{"C48 beyond 64 bits", cacher.ListOptions{ResourceVersion: "18446744073709551616"}, 400},
		{"C47 match without version", cacher.ListOptions{Match: api.MatchNotOlderThan}, 422},
		{"C47 Exact without version", cacher.ListOptions{Match: api.MatchExact}, 422},
		{"C47 Exact 0", cacher.ListOptions{Match: api.MatchExact, ResourceVersion: "0"}, 422},
		{"C47 match with continue", cacher.ListOptions{Match: api.MatchExact, ResourceVersion: "102", Continue: token}, 422},
		{"C47 version with continue", cacher.ListOptions{ResourceVersion: "102", Continue: token}, 400},
		{"C50 a token that is none", cacher.ListOptions{Continue: "?"}, 400},
		{"an unknown field", cacher.ListOptions{Selection: objects.Select("", "x=1")}, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := lists(t)
			status := w.List(c.opt, func(*cacher.Pages, *api.Status) { t.Error("answered") })
			require.NotNil(t, status)
			assert.Equal(t, c.code, status.Code)
		})
	}
	p := lists(t).page(cacher.ListOptions{ResourceVersion: "0", Continue: token})
	assert.NotEmpty(t, p.items, "C47: 0 with continue is allowed")
}

func TestC45_ExactTooOld(t *testing.T) {
	w := lists(t)
	_, status := w.tryPage(cacher.ListOptions{ResourceVersion: "99", Match: api.MatchExact})
	assert.Equal(t, api.Expired("too old resource version: 99 (100)"), status)
}

func TestC42_PagesWithoutSelector(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1", "ns/b rv=2", "ns/c rv=3", "ns/d rv=4", "ns/e rv=5", "other/x rv=6")
	first := w.page(cacher.ListOptions{Limit: 2})
	assert.Equal(t, []string{"ns/a@1", "ns/b@2"}, first.items)
	assert.EqualValues(t, 4, first.remaining)

	w.do("-ns/c rv=11", "ns/cc rv=12", "ns/d rv=13") // G10: these changes do not appear on the pages
	second := w.page(cacher.ListOptions{Limit: 2, Continue: first.next})
	assert.Equal(t, page{[]string{"ns/c@3", "ns/d@4"}, 10, second.next, 2}, second)
	third := w.page(cacher.ListOptions{Limit: 2, Continue: second.next})
	assert.Equal(t, page{[]string{"ns/e@5", "other/x@6"}, 10, "", 0}, third)
	rest := w.page(cacher.ListOptions{Continue: first.next})
	assert.Equal(t, page{[]string{"ns/c@3", "ns/d@4", "ns/e@5", "other/x@6"}, 10, "", 0}, rest)
	assert.Equal(t, first.next, cacher.FormatContinue(10, "ns/b\x00"), "C44: the token has the reply's version")
	w.assertNoLeak()
}

// A list of a namespace reads a key prefix, so its pages end at the last key of
// the namespace.
func TestC42_PagesOfANamespace(t *testing.T) {
	w := listed(t, 10, "a/x rv=1", "ns/a rv=2", "ns/b rv=3", "ns/c rv=4", "nsx/a rv=5", "z/z rv=6")
	first := w.page(cacher.ListOptions{Namespace: "ns", Limit: 2})
	assert.Equal(t, page{[]string{"ns/a@2", "ns/b@3"}, 10, cacher.FormatContinue(10, "b\x00"), 1}, first)
	assert.Equal(t, page{[]string{"ns/c@4"}, 10, "", 0}, w.page(cacher.ListOptions{Namespace: "ns", Limit: 2, Continue: first.next}))
	assert.Equal(t, page{[]string{"ns/a@2", "ns/b@3", "ns/c@4"}, 10, "", 0}, w.page(cacher.ListOptions{Namespace: "ns", Limit: 3}))
	assert.Equal(t, page{[]string{}, 10, "", 0}, w.page(cacher.ListOptions{Namespace: "n", Limit: 3}))
	w.do("ns/aa rv=11", "-ns/b rv=12")
	exact := w.page(cacher.ListOptions{Namespace: "ns", ResourceVersion: "11", Match: api.MatchExact, Limit: 2})
	assert.Equal(t, page{[]string{"ns/a@2", "ns/aa@11"}, 11, cacher.FormatContinue(11, "aa\x00"), 2}, exact)
}

func TestC43_PagesUnderASelector(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1 app=web", "ns/b rv=2", "ns/c rv=3 app=web", "ns/d rv=4")
	first := w.page(cacher.ListOptions{Selection: objects.Select("app", ""), Limit: 1})
	assert.Equal(t, []string{"ns/a@1"}, first.items)
	assert.Zero(t, first.remaining, "unknown")
	second := w.page(cacher.ListOptions{Selection: objects.Select("app", ""), Limit: 1, Continue: first.next})
	assert.Equal(t, []string{"ns/c@3"}, second.items)
	require.NotEmpty(t, second.next, "the search skipped an object")
	third := w.page(cacher.ListOptions{Selection: objects.Select("app", ""), Limit: 1, Continue: second.next})
	assert.Equal(t, page{[]string{}, 10, "", 0}, third)
}

func TestC52_ExpiredToken(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1", "ns/b rv=2", "ns/c rv=3")
	first := w.page(cacher.ListOptions{Limit: 1})
	w.list(20, "ns/a rv=1", "ns/bb rv=15", "ns/c rv=3")
	_, status := w.tryPage(cacher.ListOptions{Limit: 1, Continue: first.next})
	require.NotNil(t, status)
	assert.Equal(t, 410, status.Code)
	assert.Equal(t, cacher.FormatContinue(0, "ns/a\x00"), status.Continue)
	rest := w.page(cacher.ListOptions{Limit: 1, Continue: status.Continue})
	assert.Equal(t, page{[]string{"ns/bb@15"}, 20, cacher.FormatContinue(20, "ns/bb\x00"), 1}, rest, "C51: continues with the latest state")
}

func TestC38_Get(t *testing.T) {
	w := lists(t)
	assert.EqualValues(t, 104, w.Arena().ResourceVersion(w.State().Get("ns/b")))
	assert.Zero(t, w.State().Get("ns/d"))
	assert.Zero(t, w.State().Get("ns"))
}

// T22, T23, T29: a read waits at most three seconds until an event, progress or a
// list advances the collection to the requested version.
func TestC34_Freshness(t *testing.T) {
	w := listed(t, 10, "ns/a rv=1")
	var answers []string
	ask := func(name, rv string) {
		require.Nil(t, w.List(cacher.ListOptions{ResourceVersion: rv}, func(r *cacher.Pages, status *api.Status) {
			if status != nil {
				name += " " + status.Error()
			} else {
				name += " " + r.ResourceVersion.String()
			}
			answers = append(answers, name)
		}))
	}
	ask("now", "10")
	ask("event", "11")
	ask("progress", "13")
	ask("relist", "20")
	ask("never", "99")
	assert.Equal(t, []string{"now 10"}, answers)
	assert.EqualValues(t, start+3000, w.NextTick())
	w.do("ns/a rv=12")
	assert.Equal(t, []string{"event 12"}, answers[1:])
	w.Progress(13, w.now)
	assert.Equal(t, []string{"progress 13"}, answers[2:])
	w.pass(2999)
	w.list(21)
	assert.Equal(t, []string{"relist 21"}, answers[3:])
	w.now++
	w.Tick(w.now)
	assert.Equal(t, []string{"never 504 Timeout: Timeout: Too large resource version: 99, current: 21"}, answers[4:])
	assert.Zero(t, w.Waiting())
}

func TestC34_FailedWaits(t *testing.T) {
	w := listed(t, 10)
	gone := api.Unavailable("gone")
	var got []*api.Status
	for range 2 {
		w.Waits().WhenFresh(11, func(status *api.Status) {
			got = append(got, status)
			if len(got) == 1 {
				w.Waits().WhenFresh(12, func(*api.Status) { t.Error("this watch did not end") })
			}
		})
	}
	w.Waits().Fail(gone)
	assert.Equal(t, []*api.Status{gone, gone}, got)
	assert.Equal(t, 1, w.Waiting(), "a wait that starts in a callback is independent")
}

// The number of reads that wait for a collection is limited. Reads beyond the limit fail at once,
// and do not affect the others.
func TestWaitingReadsAreLimited(t *testing.T) {
	w := newWorld(t, history.Limits{})
	got := map[*api.Status]int{}
	for range cacher.MaxWaits {
		w.Waits().WhenFresh(0, func(status *api.Status) { got[status]++ })
	}
	assert.Empty(t, got)
	var refused *api.Status
	w.Waits().WhenFresh(0, func(status *api.Status) { refused = status })
	assert.Equal(t, cacher.TooManyWaits(), refused)
	w.list(10)
	assert.Equal(t, map[*api.Status]int{nil: cacher.MaxWaits}, got)
}

// A read that waits for a revision returns all objects of the revision.
func TestG4_HeldWaitsSeeWholeRevisions(t *testing.T) {
	w := listed(t, 10)
	var items []string
	require.Nil(t, w.List(cacher.ListOptions{ResourceVersion: "11"}, func(r *cacher.Pages, status *api.Status) {
		refs, _ := r.All()
		for _, ref := range refs {
			items = append(items, string(w.Arena().Key(ref)))
		}
	}))
	w.Waits().BeginRevision()
	w.do("ns/a rv=11", "ns/b rv=11")
	assert.Equal(t, 1, w.Waiting())
	w.Progress(11, w.now)
	assert.Equal(t, []string{"ns/a", "ns/b"}, items)

	w.Waits().BeginRevision()
	w.Waits().WhenFresh(12, func(status *api.Status) { assert.Nil(t, status); items = nil })
	w.do("ns/c rv=12")
	assert.Len(t, items, 2)
	w.Tick(w.now)
	assert.Empty(t, items)
}

// A list of one name has a single page, because a continue token would reveal
// other objects.
func TestListOfOneNameHasNoContinueToken(t *testing.T) {
	w := lists(t)
	for fields, want := range map[string]string{"metadata.name=a": "ns/a@101", "metadata.name=c": "ns/c@102"} {
		for _, o := range []cacher.ListOptions{{Limit: 1}, {Limit: 1, Namespace: "ns"}, {Limit: 1, ResourceVersion: "102", Match: api.MatchExact}} {
			o.Selection = objects.Select("", fields)
			p := w.page(o)
			assert.Equal(t, []string{want}, p.items)
			assert.Empty(t, p.next)
		}
	}
}

func TestFalseNumberOfObjectsAllocatesLittle(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.Listing().Begin()
	c.Listing().Expect(math.MaxUint64)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20))
}
