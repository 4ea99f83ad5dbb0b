package sourcetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func testEmptyList(t *testing.T, h Harness) {
	r := stream(t, h, ConfigMaps, 0)
	r.awaitList()
	assert.Empty(t, r.listed())
	s := newStore(t, h, ConfigMaps)
	r.awaitRevision(s.put("1", "a/a"))
	assert.Equal(t, s.after(0), r.got())
}

func testList(t *testing.T, h Harness) {
	s := newStore(t, h, ConfigMaps)
	// "a-b/..." sorts before "a/..." as text, because '-' sorts before '/'.
	for _, key := range []api.Key{"b/x", "a/z", "a/b", "a-b/c", "a/b.c", "a/a"} {
		s.put("1", key)
	}
	s.put("2", "a/z")
	s.delete("b/x")
	r := stream(t, h, ConfigMaps, 0)
	list := r.awaitList()
	assert.GreaterOrEqual(t, list, s.newest())
	assert.Equal(t, s.at(list), r.listed())
}

func testClusterScoped(t *testing.T, h Harness) {
	s := newStore(t, h, Nodes)
	s.put("1", "node-1")
	s.put("1", "node-2")
	r := stream(t, h, Nodes, 0)
	list := r.awaitList()
	assert.Equal(t, s.at(list), r.listed())
	s.put("2", "node-2")
	r.awaitRevision(s.delete("node-1"))
	assert.Equal(t, s.after(list), r.got())
}

// testPinnedList blocks the list at its first object, changes objects on every page,
// and continues the list.
func testPinnedList(t *testing.T, h Harness) {
	s := newStore(t, h, ConfigMaps)
	keys := names("a", max(4, 3*h.PageSize+1))
	for _, key := range keys {
		s.put("old", key)
	}
	rec := newRecorder(t, 0)
	begun, resume := make(chan struct{}), make(chan struct{})
	var once sync.Once
	rec.before = func(call string) error {
		if call == "Object" {
			once.Do(func() { close(begun); <-resume })
		}
		return nil
	}
	r := streamTo(t, h, ConfigMaps, 0, rec)
	<-begun
	for i, key := range keys {
		switch i % 3 {
		case 0:
			s.put("new", key)
		case 1:
			s.delete(key)
		}
	}
	s.put("new", "a/zzz")
	s.put("new", "a/000")
	close(resume)
	r.awaitRevision(s.newest())
	assert.Equal(t, s.at(r.listRV), r.listed())
	assert.Equal(t, s.after(r.listRV), r.got())
	assert.Len(t, r.listed(), len(keys), "later writes are not in the list")
}

// testNoGap opens streams while several writers change objects.
func testNoGap(t *testing.T, h Harness) {
	const writers, rounds, streams = 4, 60, 4
	s := newStore(t, h, ConfigMaps)
	s.put("0", "start/start")
	started := make(chan struct{}, writers*rounds)
	var storm sync.WaitGroup
	for w := range writers {
		storm.Go(func() {
			keys := names(fmt.Sprintf("ns-%d", w), 10)
			for i := range rounds {
				key := keys[i%len(keys)]
				if i/len(keys)%2 == 1 && i%5 == 0 {
					s.delete(key)
				} else {
					s.put(fmt.Sprint(i), key)
				}
				started <- struct{}{}
			}
		})
	}
	var all []*running
	for range streams {
		for range writers * rounds / (streams + 1) {
			<-started
		}
		all = append(all, stream(t, h, ConfigMaps, 0))
	}
	storm.Wait()
	for _, r := range all {
		r.awaitRevision(s.newest())
		assert.Equal(t, s.at(r.listRV), r.listed())
		assert.Equal(t, s.after(r.listRV), r.got())
	}
}

func testResume(t *testing.T, h Harness) {
	s := newStore(t, h, ConfigMaps)
	var revisions []api.ResourceVersion
	for i := range 12 {
		key := names("a", 4)[i%4]
		revisions = append(revisions, s.put(fmt.Sprint(i), key))
		if i%3 == 2 {
			revisions = append(revisions, s.delete(key))
		}
	}
	for _, from := range revisions {
		r := stream(t, h, ConfigMaps, from)
		last := s.put("last", "a/last")
		r.awaitRevision(last)
		assert.Equal(t, s.after(from), r.got())
		require.Error(t, r.stop())
		assert.Zero(t, r.lists, "a resumed stream does not list")
	}
}

func testFuture(t *testing.T, h Harness) {
	s := newStore(t, h, ConfigMaps)
	from := s.put("1", "a/a") + 1_000_000
	r := stream(t, h, ConfigMaps, from)
	status := api.AsStatus(r.wait())
	assert.Contains(t, []int{410, 504}, status.Code, status.Message)
	assert.Contains(t, status.Message, from.String())
}

func testCompacted(t *testing.T, h Harness) {
	if h.Compact == nil {
		t.Skip("nothing compacts this store from outside, so no version becomes too old")
	}
	s := newStore(t, h, ConfigMaps)
	old := s.put("1", "a/a")
	s.put("2", "a/a")
	s.put("3", "a/a")
	newest := s.put("4", "a/b")
	h.Compact(t, newest)

	err := stream(t, h, ConfigMaps, old).wait()
	require.ErrorIs(t, err, api.Expired(""))
	assert.ErrorContains(t, err, old.String())

	r := stream(t, h, ConfigMaps, 0)
	list := r.awaitList()
	assert.Equal(t, s.at(list), r.listed(), "the state survives compaction")

	resumed := stream(t, h, ConfigMaps, newest)
	resumed.awaitRevision(s.put("5", "a/a"))
	assert.Equal(t, s.after(newest), resumed.got(), "the newest revision can still be resumed from")
}

func testSurvivesCompaction(t *testing.T, h Harness) {
	if h.Compact == nil {
		t.Skip("nothing compacts this store from outside, so no version becomes too old")
	}
	s := newStore(t, h, ConfigMaps)
	s.put("1", "a/a")
	r := stream(t, h, ConfigMaps, 0)
	list := r.awaitList()
	for range 5 {
		rv := s.put("more", "a/a")
		r.awaitRevision(rv)
		h.Compact(t, rv)
	}
	r.awaitRevision(s.delete("a/a"))
	assert.Equal(t, s.after(list), r.got())
}
