package session_test

import (
	"fmt"
	"math/rand"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// labelled is a collection of objects with an app label. It records the label of each
// version. Most objects have a unique label set.
type labelled struct {
	*session.Served
	rand *rand.Rand
	rv   api.ResourceVersion
	apps map[string]string // by key and version
}

func newLabelled(n int, seed int64) *labelled {
	c := &labelled{rand: rand.New(rand.NewSource(seed)), apps: map[string]string{}}
	c.Served = session.Serve(cacher.New(cacher.Config{Schema: objects.Pods(), History: history.Limits{MinCapacity: 64, MaxCapacity: 64}}))
	c.Listing().Begin()
	c.Upstream().SetClusterID("here")
	for i := range n {
		c.Listing().Object(c.put(i, n))
	}
	c.Listing().End(c.rv, 1000)
	return c
}

func (c *labelled) put(i, apps int) *cacher.Update {
	c.rv++
	key, app := fmt.Sprintf("ns/%05d", i), fmt.Sprint("app-", i)
	if i >= apps {
		app = fmt.Sprint("app-", c.rand.Intn(apps))
	}
	c.apps[fmt.Sprint(key, c.rv)] = app
	return objects.Update(fmt.Sprintf("%s rv=%d app=%s phase=Running body={}", key, c.rv, app))
}

func (c *labelled) sessions(t testing.TB, n int, config session.Config, f wire.Subscribe) []*session.Session {
	t.Helper()
	f.Subscription, f.Resource, f.ClusterID, f.Credit = 1, "v1/pods", "here", 1<<40
	all := make([]*session.Session, n)
	for i := range all {
		all[i] = session.New(config, one{c.Collection})
		require.NoError(t, all[i].Receive(f.Append((&wire.Hello{Version: wire.Version}).Append(nil)), 1000))
	}
	return all
}

// labelReader checks that each label set that a frame uses was defined before, and equals
// the labels of the object.
type labelReader struct {
	t       *testing.T
	of      *labelled
	session *session.Session
	known   map[uint32]string
	defined int
}

func (r *labelReader) pull(limit int) (more bool) {
	message := r.session.Next(limit, 1000)
	for rest := message; len(rest) > 0; {
		typ, payload, next, err := wire.Next(rest)
		require.NoError(r.t, err)
		r.frame(typ, payload)
		rest = next
	}
	return len(message) > 0
}

func (r *labelReader) frame(typ wire.Type, payload []byte) {
	switch typ {
	case wire.TypeLabelSet:
		var f wire.LabelSet
		require.NoError(r.t, f.Parse(payload))
		r.known[f.ID] = strings.Clone(f.Labels[0].Value)
		r.defined++
	case wire.TypeSnapshotPart:
		var f wire.SnapshotPart
		require.NoError(r.t, f.Parse(payload))
		r.check(f.Objects)
	case wire.TypeEvents:
		var f wire.Events
		require.NoError(r.t, f.Parse(payload))
		r.check(f.Changes)
	case wire.TypeSubscriptionStatus:
		require.Fail(r.t, "the subscription ended")
	}
}

func (r *labelReader) check(changes []wire.Change) {
	for _, c := range changes {
		if c.Type != api.Deleted {
			require.Equal(r.t, r.of.apps[fmt.Sprint(c.Key, c.ResourceVersion)], r.known[c.LabelSet], "%s at %d", c.Key, c.ResourceVersion)
		}
	}
}

// Each label set is defined before its use, even if a subscription remembers few
// definitions. This applies to readers with and without a shared encoding.
func TestEveryLabelSetIsDefinedBeforeItIsUsed(t *testing.T) {
	again := 0
	for seed := range int64(20) {
		const objects = 60
		c := newLabelled(objects, seed)
		var readers []*labelReader
		for i := range 6 {
			config := session.Config{LabelSets: []int{1, 3, 16, 1000}[(int(seed)+i)%4]}
			f := []wire.Subscribe{{}, {}, {MetadataOnly: true}, {FieldSelector: "status.phase=Running"}, {LabelSelector: "app!=app-7"}, {ResourceVersion: c.rv}}[i]
			readers = append(readers, &labelReader{t: t, of: c, session: c.sessions(t, 1, config, f)[0], known: map[uint32]string{}})
		}
		for range 300 {
			for range c.rand.Intn(4) {
				if i := c.rand.Intn(objects); c.rand.Intn(4) == 0 {
					c.rv++
					c.Delete(api.Key(fmt.Sprintf("ns/%05d", i)), c.rv, 1000)
				} else {
					c.Apply(c.put(i, c.rand.Intn(objects)+1), 1000)
				}
			}
			for _, r := range readers {
				r.pull([]int{1, 400, 1 << 20}[c.rand.Intn(3)])
			}
		}
		for _, r := range readers {
			for r.pull(1 << 20) {
			}
			again += r.defined - len(r.known)
		}
	}
	require.Positive(t, again, "some were defined again")
}

// Readers without selectors receive the bytes encoded for the first such reader, even if
// their session must first define a label set.
func TestSharedEncodingIsUsedByReadersThatLackALabelSet(t *testing.T) {
	c := newLabelled(40, 1)
	sessions := c.sessions(t, 2, session.Config{LabelSets: 1}, wire.Subscribe{})
	for _, s := range sessions {
		for s.Next(1<<20, 1000) != nil {
		}
	}
	for i := range 4 {
		c.Apply(c.put(i, 40), 1000)
	}
	first := sessions[0].Next(1<<20, 1000)
	encoded := &c.EncodedEvents().Changes[0]
	assert.Equal(t, first, sessions[1].Next(1<<20, 1000))
	assert.Same(t, encoded, &c.EncodedEvents().Changes[0])
	assert.EqualValues(t, c.EncodedEvents().To, c.Window().End())
}

// A remembered label set is not sent again.
func TestKnownLabelSetIsDefinedOnce(t *testing.T) {
	c := newLabelled(40, 1)
	s := c.sessions(t, 1, session.Config{LabelSets: 40}, wire.Subscribe{})[0]
	for s.Next(1<<20, 1000) != nil {
	}
	for i := range 40 {
		c.Apply(c.put(i, 40), 1000)
		require.Equal(t, []wire.Type{wire.TypeEvents}, types(t, s.Next(1<<20, 1000)))
	}
}

// The memory of a reader does not depend on whether the collection has 100 label sets or
// 20,000.
func TestMemoryOfAReaderDoesNotGrowWithLabelSets(t *testing.T) {
	const readers = 64
	measure := func(labelSets int, f wire.Subscribe) int {
		c := newLabelled(labelSets, 1)
		sync := func(readers int) []*session.Session {
			sessions := c.sessions(t, readers, session.Config{}, f)
			for _, s := range sessions {
				for s.Next(64<<10, 1000) != nil {
				}
			}
			return sessions
		}
		sync(1)[0].Close() // creates the state that readers share
		before := heapBytes()
		sessions := sync(readers)
		each := (heapBytes() - before) / readers
		runtime.KeepAlive(sessions)
		runtime.KeepAlive(c)
		return each
	}
	for _, f := range []wire.Subscribe{{}, {LabelSelector: "app!=none"}} {
		few, many := measure(100, f), measure(20_000, f)
		t.Logf("bytes of a reader %q: %d with 100 label sets, %d with 20,000", f.LabelSelector, few, many)
		assert.Less(t, many-few, 20<<10)
	}
}

// The private numbers of label sets start over at the limit. The table of these numbers
// therefore remains small, both while a reader with a selector receives a long snapshot
// and afterwards.
func TestPrivateLabelSetsAreBounded(t *testing.T) {
	const most, message = 100, 1000
	c := newLabelled(2000, 1)
	r := &labelReader{t: t, of: c, known: map[uint32]string{}}
	r.session = c.sessions(t, 1, session.Config{LabelSets: most}, wire.Subscribe{LabelSelector: "app!=none"})[0]
	for r.pull(message) {
	}
	for i := range 2000 {
		require.Nil(t, c.Apply(c.put(i, 4000), 1000))
		for r.pull(message) {
		}
	}
	require.Greater(t, r.defined, 2000)
	assert.Less(t, len(r.known), most+message/10, "a message has few objects")
}

func heapBytes() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
