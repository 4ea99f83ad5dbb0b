package sourcetest

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

func testCancel(t *testing.T, h Harness) {
	newStore(t, h, ConfigMaps).put("1", "a/a")
	r := stream(t, h, ConfigMaps, 0)
	r.awaitList()
	require.ErrorIs(t, r.stop(), context.Canceled)
	assertNoGoroutines(t, h.Source)

	deadline, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	assert.ErrorIs(t, h.Source.Stream(deadline, ConfigMaps, 0, newRecorder(t, 0)), context.DeadlineExceeded)
	assertNoGoroutines(t, h.Source)
}

// testCancelBlocked cancels a stream while its sink blocks, once during the list and once
// during the changes.
func testCancelBlocked(t *testing.T, h Harness) {
	s := newStore(t, h, ConfigMaps)
	for _, key := range names("a", 3*h.PageSize+1) {
		s.put("1", key)
	}
	for _, call := range []string{"Object", "Changes"} {
		rec := newRecorder(t, 0)
		blocked, resume := make(chan struct{}), make(chan struct{})
		var once sync.Once
		rec.before = func(name string) error {
			if name == call {
				once.Do(func() { close(blocked); <-resume })
			}
			return nil
		}
		r := streamTo(t, h, ConfigMaps, 0, rec)
		if call == "Changes" {
			r.awaitList()
			s.put("2", "a/a")
		}
		<-blocked
		r.cancel()
		close(resume)
		require.ErrorIs(t, r.wait(), context.Canceled)
	}
	assertNoGoroutines(t, h.Source)
}

func testSinkError(t *testing.T, h Harness) {
	s := newStore(t, h, ConfigMaps)
	s.put("1", "a/a")
	for _, call := range []string{"BeginList", "Object", "EndList", "Changes", "Progress"} {
		rec := newRecorder(t, 0)
		rec.before = func(name string) error {
			if name == call {
				return errSink
			}
			return nil
		}
		r := streamTo(t, h, ConfigMaps, 0, rec)
		if call == "Changes" || call == "Progress" {
			r.awaitList()
			s.put("2", "a/a")
			h.progress()
		}
		require.Same(t, errSink, r.wait(), call)
	}
	assertNoGoroutines(t, h.Source)
}

// testUndecodable checks that a source delivers invalid values unchanged. The connector
// handles them.
func testUndecodable(t *testing.T, h Harness) {
	if h.Decodes {
		t.Skip("this store validates values on write, so it never lists undecodable ones")
	}
	put := func(key, value string) {
		_, err := h.Writer.Txn(t.Context(), source.Write{Resource: ConfigMaps, Key: api.NewKey("a", key), Value: []byte(value)})
		require.NoError(t, err)
	}
	s := newStore(t, h, ConfigMaps)
	s.put("good", "a/a")
	put("b", "{not json\x00\xff")
	put("c", "")
	r := stream(t, h, ConfigMaps, 0)
	r.awaitList()
	assert.Equal(t, []string{"good", "{not json\x00\xff", ""}, markers(r.listed()))

	put("d", "k8s\x00protobuf")
	put("e", "")
	r.awaitRevision(s.put("good", "a/f"))
	assert.Equal(t, []string{"k8s\x00protobuf", "", "good"}, markers(r.got()))
	for _, c := range r.got() {
		assert.False(t, c.Deleted, "an empty value is not a deletion")
	}
}

func markers(records []record) []string {
	var all []string
	for _, r := range records {
		all = append(all, r.Marker)
	}
	return all
}

// assertNoGoroutines checks that no goroutine runs code of the source's package. A
// goroutine may need some time to end after it has signaled its owner, so the
// check is retried.
func assertNoGoroutines(t *testing.T, src source.Source) {
	t.Helper()
	typ := reflect.TypeOf(src)
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	var running string
	assert.Eventually(t, func() bool {
		running = goroutinesOf(typ.PkgPath())
		return running == ""
	}, patience, time.Millisecond)
	assert.Empty(t, running)
}

// goroutinesOf returns the stacks of the goroutines that run code of the package, except
// those of tests.
func goroutinesOf(pkg string) string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var found []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, pkg+".(") && !strings.Contains(stack, "testing.tRunner") {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}
