package cacher_test

import (
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/watcher"
)

// duel runs the same random operations on a cacher and a model.
type duel struct {
	*world
	dumb    dumb
	random  *rand.Rand
	readers []*reader
	slow    []*slowList
	seen    map[string]int // counts of situations that must occur
}

// reader reads one watch and checks its events against the model.
type reader struct {
	*watcher.Watcher
	selection *selection
	conflates bool
	stalls    bool
	relists   int                 // number of relists before the watch started
	oldest    api.ResourceVersion // oldest version in the window when the watch was overtaken
	// want contains the initial events. They are followed by those events of the model,
	// starting at index "position", that are newer than the version "after".
	want     []string
	position int
	after    api.ResourceVersion
	got      []string
	state    map[string]string // versions by key, folded from the events
	last     api.ResourceVersion
	initial  bool // the initial events are incomplete
	blind    bool // it started at a future version, so its state cannot be derived from its events
}

func TestRandomRequestsAgreeWithAModel(t *testing.T) {
	seen := map[string]int{}
	for seed := range int64(150) {
		random := rand.New(rand.NewSource(seed))
		d := &duel{random: random, seen: seen}
		d.world = newWorld(t, history.Limits{MinCapacity: 5 + random.Intn(60), MaxCapacity: 120})
		d.dumb.state = map[string]string{}
		d.relist()
		for range 400 {
			d.step()
		}
		for range 100 { // one watch may block the others
			for _, r := range d.readers {
				d.readAll(r)
			}
		}
		for _, r := range d.readers {
			d.settle(r)
		}
		d.assertNoLeak()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for _, what := range []string{
		"stalled", "stalled and complete", "overtaken", "two relists", "relist", "exact", "too old", "paged", "expired page", "complete", "cut off", "conflated", "bookmark", "history", "fold at bookmark",
		"list read slowly", "list cut off",
	} {
		assert.NotZero(t, seen[what], "%s never happened", what)
	}
}

func (d *duel) step() {
	switch n := d.random.Intn(100); {
	case n < 45:
		d.revision()
	case n < 47:
		d.openSlow()
	case n < 55:
		d.readSlow()
	case n < 60:
		d.dumb.remember(d.dumb.rv + api.ResourceVersion(d.random.Intn(3)))
		d.Progress(d.dumb.rv, d.now)
	case n < 61:
		d.relist()
	case n < 68:
		d.pass(int64(d.random.Intn(5000)))
	case n < 74:
		d.watch()
	case n < 86:
		d.read()
	case n < 93:
		d.listPast()
	case n < 99:
		d.listLatest()
	default:
		d.leave()
	}
	for _, r := range d.readers {
		d.noteEnd(r)
	}
}

// noteEnd records the oldest version in the window when a watch is overtaken.
func (d *duel) noteEnd(r *reader) {
	if r.oldest == 0 && r.Ending().Reason == api.WatchEndOvertaken {
		r.oldest, _ = d.Window().Oldest()
	}
}

// judgeEnd checks that a stalling watch ended for one of the allowed reasons, and
// that the model confirms the reason.
func (d *duel) judgeEnd(r *reader) {
	ending := r.Ending()
	switch ending.Reason {
	case api.WatchEndTimeout:
		require.Nil(d.t, ending.Status)
	case api.WatchEndHistoryLost:
		require.True(d.t, r.blind, "only a future version may be lost")
	case api.WatchEndOvertaken:
		d.seen["overtaken"]++
		require.ErrorIs(d.t, ending.Status, api.Expired(""))
		if strings.Contains(ending.Status.Message, "listed twice") {
			d.seen["two relists"]++
			require.GreaterOrEqual(d.t, d.seen["relist"]-r.relists, 2)
			return
		}
		next := d.nextOf(r, len(r.got))
		require.NotNil(d.t, next, "everything was delivered: %v", ending.Status)
		require.LessOrEqual(d.t, next.rv, r.oldest, "the history had the next event: %+v", *next)
	default:
		require.Fail(d.t, "a stalling watch cannot end so", "%v: %v", ending.Reason, ending.Status)
	}
}

// nextOf returns the first event of the history that a reader must receive after its
// first n events, or nil. The n events include the initial events.
func (d *duel) nextOf(r *reader, n int) *dumbEvent {
	n = max(n-len(r.want), 0)
	for i := range d.dumb.events[r.position:] {
		e := &d.dumb.events[r.position+i]
		if _, ok := r.selection.match(e); ok && e.rv > r.after {
			if n == 0 {
				return e
			}
			n--
		}
	}
	return nil
}

func (d *duel) key() string {
	return "n" + strconv.Itoa(1+d.random.Intn(3)) + "/p" + strconv.Itoa(d.random.Intn(7))
}

func (d *duel) object(key string, rv api.ResourceVersion) string {
	text := key + " rv=" + rv.String()
	text += [...]string{"", " app=web", " app=db"}[d.random.Intn(3)]
	text += [...]string{"", " canary=yes"}[d.random.Intn(2)]
	return text + [...]string{"", " phase=Running", " phase=Failed"}[d.random.Intn(3)]
}

// revision changes one object, or several in one transaction.
func (d *duel) revision() {
	rv := d.dumb.rv + 1 + api.ResourceVersion(d.random.Intn(2))
	keys := map[string]bool{d.key(): true}
	for d.random.Intn(5) == 0 {
		keys[d.key()] = true
	}
	d.Waits().BeginRevision()
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if d.random.Intn(4) == 0 {
			d.dumb.change(rv, key, "")
			d.do("-" + key + " rv=" + rv.String())
			continue
		}
		text := d.object(key, rv)
		d.dumb.change(rv, key, text)
		d.do(text)
	}
	d.dumb.remember(rv)
	d.Progress(rv, d.now)
	if d.random.Intn(10) == 0 && d.dumb.state[slices.Sorted(maps.Keys(keys))[0]] != "" {
		d.do(d.dumb.state[slices.Sorted(maps.Keys(keys))[0]]) // a repetition
	}
}

func (d *duel) relist() {
	d.seen["relist"]++
	next, rv := maps.Clone(d.dumb.state), d.dumb.rv
	for range 1 + d.random.Intn(12) {
		rv++
		if key := d.key(); d.random.Intn(3) == 0 {
			delete(next, key)
		} else {
			next[key] = d.object(key, rv)
		}
	}
	d.list(rv, slices.Sorted(maps.Values(next))...)
	d.dumb.relist(rv, next)
}

func (d *duel) selection() *selection { return &selections[d.random.Intn(len(selections))] }

func (d *duel) watch() {
	s := d.selection()
	opt := cacher.WatchOptions{
		Namespace: s.namespace, Selection: objects.Select(s.labels, s.fields), Bookmarks: d.random.Intn(2) == 0,
	}
	r := &reader{selection: s, relists: d.seen["relist"], position: len(d.dumb.events), after: d.dumb.rv, state: map[string]string{}}
	switch d.random.Intn(4) {
	case 0:
		opt.Policy, r.conflates = api.PolicyConflate, true
	case 1, 2:
		opt.Policy, r.stalls = api.PolicyStall, true
	}
	if d.random.Intn(6) == 0 {
		opt.TimeoutSeconds = uint32(1 + d.random.Intn(20))
	}
	if d.random.Intn(2) == 0 {
		r.initial = true
		for _, name := range s.list(d.dumb.state) {
			r.want = append(r.want, "ADDED "+name)
		}
	} else {
		r.after = d.dumb.rv + 2 - min(api.ResourceVersion(d.random.Intn(40)), d.dumb.rv)
		opt.ResourceVersion = r.after.String()
		r.last, r.position, r.blind = r.after, 0, r.after > d.dumb.rv
		for _, key := range slices.Sorted(maps.Keys(d.dumb.at(r.after))) {
			if text := d.dumb.at(r.after)[key]; s.matches(text) {
				r.state[key] = word(text, "rv")
			}
		}
	}
	x, status := d.tryStart(opt)
	if oldest, _ := d.Window().Oldest(); !r.initial && r.after < oldest {
		require.NotNil(d.t, status)
		require.Equal(d.t, 410, status.Code)
		d.seen["too old"]++
		return
	}
	require.Nil(d.t, status)
	if !r.initial {
		d.seen["history"]++
	}
	r.Watcher = x
	d.readers = append(d.readers, r)
}

func (d *duel) read() {
	if len(d.readers) > 0 {
		r := d.readers[d.random.Intn(len(d.readers))]
		if r.stalls && !r.Idle() {
			d.seen["stalled"]++
		}
		r.Run()
		for range d.random.Intn(30) {
			d.readOne(r)
		}
		d.Watches().Resume()
	}
}

func (d *duel) readOne(r *reader) bool {
	delivery, ok := r.Take()
	if !ok {
		return false
	}
	rv := delivery.ResourceVersion
	if delivery.Type == api.Bookmark {
		d.bookmark(r, rv, delivery.Flags&api.EndOfInitialEvents != 0)
		r.Run()
		return true
	}
	key := strings.Clone(string(d.Arena().Key(delivery.Content)))
	text := delivery.Type.String() + " " + key + "@" + rv.String()
	if delivery.Flags&api.FinalStateUnknown != 0 {
		text += " unknown"
	}
	d.Arena().Release(delivery.Content)
	_, known := r.state[key]
	require.True(d.t, r.blind || known == (delivery.Type != api.Added), "%s, known: %v", text, known)
	if len(r.got) >= len(r.want) {
		require.GreaterOrEqual(d.t, rv, r.last, "G15: versions never decrease")
		r.last = rv
	}
	if delivery.Type == api.Deleted {
		delete(r.state, key)
	} else {
		r.state[key] = rv.String()
	}
	r.got = append(r.got, text)
	r.Run()
	return true
}

func (d *duel) bookmark(r *reader, rv api.ResourceVersion, end bool) {
	d.seen["bookmark"]++
	require.GreaterOrEqual(d.t, rv, r.last)
	if end {
		require.True(d.t, r.initial, "W23: initial events end once")
		r.initial = false
	}
	r.last = rv
	if past := d.dumb.at(rv); past != nil && !r.blind {
		d.seen["fold at bookmark"]++
		require.Equal(d.t, r.selection.list(past), names(r.state), "G17a: the fold at a bookmark is the list at its version")
	}
}

func names(state map[string]string) []string {
	list := []string{}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		list = append(list, key+"@"+state[key])
	}
	return list
}

func (d *duel) readAll(r *reader) {
	r.Run()
	for d.readOne(r) {
	}
	d.noteEnd(r)
	d.Watches().Resume()
}

// settle checks the events and the final state of a reader that has read everything.
func (d *duel) settle(r *reader) {
	if r.conflates {
		if !r.Stopped() && !r.blind {
			d.seen["conflated"]++
			assert.Equal(d.t, r.selection.list(d.dumb.state), names(r.state), "it reaches the current version")
		}
		return
	}
	want := r.want
	for i := range d.dumb.events[r.position:] {
		e := &d.dumb.events[r.position+i]
		if text, ok := r.selection.match(e); ok && e.rv > r.after {
			want = append(want, text)
		}
	}
	switch {
	case r.stalls && r.Stopped():
		d.judgeEnd(r)
	case r.stalls:
		d.seen["stalled and complete"]++
	}
	if r.Stopped() {
		d.seen["cut off"]++
		require.LessOrEqual(d.t, len(r.got), len(want))
		want = want[:len(r.got)]
	} else {
		d.seen["complete"]++
	}
	require.Equal(d.t, append([]string{}, want...), append([]string{}, r.got...))
}

func (d *duel) leave() {
	if n := len(d.readers); n > 0 {
		i := d.random.Intn(n)
		d.Watches().Stop(d.readers[i].Watcher)
		d.readers = slices.Delete(d.readers, i, i+1)
	}
}

// listPast lists at a past version, in full and in pages of every size.
func (d *duel) listPast() {
	oldest, _ := d.Window().Oldest()
	rv := d.dumb.rv - min(api.ResourceVersion(d.random.Intn(60)), d.dumb.rv-1)
	s := d.selection()
	opt := cacher.ListOptions{
		Namespace: s.namespace, Selection: objects.Select(s.labels, s.fields),
		ResourceVersion: rv.String(), Match: api.MatchExact,
	}
	if rv < oldest {
		_, status := d.tryPage(opt)
		require.NotNil(d.t, status)
		require.Equal(d.t, 410, status.Code)
		return
	}
	d.seen["exact"]++
	want := s.list(d.dumb.at(rv))
	require.Equal(d.t, page{want, rv, "", 0}, d.page(opt))
	for limit := 1; limit <= len(want)+1; limit++ {
		opt.Limit = uint32(limit)
		d.pages(opt, s, want, rv)
	}
}

func (d *duel) listLatest() {
	s := d.selection()
	opt := cacher.ListOptions{Namespace: s.namespace, Selection: objects.Select(s.labels, s.fields)}
	want := s.list(d.dumb.state)
	require.Equal(d.t, page{want, d.dumb.rv, "", 0}, d.page(opt))
	opt.Limit = uint32(1 + d.random.Intn(5))
	first := d.page(opt)
	rv := d.dumb.rv
	if first.next == "" {
		return
	}
	for range d.random.Intn(20) { // all pages show the state of the first page
		d.revision()
	}
	if d.random.Intn(10) == 0 {
		d.relist()
	}
	opt.Continue = first.next
	if oldest, _ := d.Window().Oldest(); rv < oldest {
		_, status := d.tryPage(opt)
		require.NotNil(d.t, status)
		require.Equal(d.t, 410, status.Code)
		require.NotEmpty(d.t, status.Continue)
		d.seen["expired page"]++
		return
	}
	d.pages(opt, s, want[len(first.items):], rv)
}

// pages reads all pages of a list, and compares each with the expected items.
func (d *duel) pages(opt cacher.ListOptions, s *selection, want []string, rv api.ResourceVersion) {
	d.seen["paged"]++
	selective := s.labels+s.fields != ""
	for {
		p := d.page(opt)
		n := min(int(opt.Limit), len(want))
		require.Equal(d.t, want[:n], p.items)
		require.Equal(d.t, rv, p.rv)
		want = want[n:]
		if selective {
			require.Zero(d.t, p.remaining)
		} else {
			require.EqualValues(d.t, len(want), p.remaining)
			require.Equal(d.t, len(want) > 0, p.next != "")
		}
		if p.next == "" {
			require.Empty(d.t, want)
			return
		}
		opt.Continue, opt.ResourceVersion, opt.Match = p.next, "", api.MatchUnset
	}
}
