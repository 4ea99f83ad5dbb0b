package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// storedCollection is the state that a program derives from the frames of snapshots. It contains
// the text of each object, with the dictionary of its body.
type storedCollection struct {
	t            *testing.T
	dictionaries map[uint32]string
	dictionary   string
	labels       map[uint32]api.Labels
	objects      map[api.Key]string
	faults       []string
	rv           api.ResourceVersion
}

func (k *storedCollection) take(frames []byte) {
	for len(frames) > 0 {
		typ, payload, rest, err := wire.Next(frames)
		require.NoError(k.t, err)
		k.frame(typ, payload)
		frames = rest
	}
}

func (k *storedCollection) frame(typ wire.Type, payload []byte) {
	parse := func(f interface{ Parse([]byte) error }) { require.NoError(k.t, f.Parse(payload)) }
	switch typ {
	case wire.TypeDictionary:
		var f wire.Dictionary
		parse(&f)
		k.dictionaries[f.ID] = string(f.Data)
	case wire.TypeSchema:
		var f wire.Schema
		parse(&f)
		k.dictionary = k.dictionaries[f.Dictionary]
	case wire.TypeLabelSet:
		var f wire.LabelSet
		parse(&f)
		k.labels[f.ID] = f.Labels
	case wire.TypeObjectError:
		var f wire.ObjectError
		parse(&f)
		k.faults = append(k.faults, string(f.Key))
	case wire.TypeSnapshotBegin:
		k.objects = map[api.Key]string{}
	case wire.TypeSnapshotPart:
		var f wire.SnapshotPart
		parse(&f)
		k.changes(f.Objects)
	case wire.TypeEvents:
		var f wire.Events
		parse(&f)
		k.changes(f.Changes)
		k.rv = f.ResourceVersion
	case wire.TypeSnapshotEnd:
		var f wire.SnapshotEnd
		parse(&f)
		k.rv = f.ResourceVersion
	case wire.TypeProgress:
		var f wire.Progress
		parse(&f)
		k.rv = f.ResourceVersion
	default:
		k.t.Fatalf("a copy has no frames of type %#x", typ)
	}
}

func (k *storedCollection) changes(list []wire.Change) {
	for _, c := range list {
		if c.Type == api.Deleted {
			delete(k.objects, c.Key)
			continue
		}
		k.objects[c.Key] = fmt.Sprint(c.ResourceVersion, k.labels[c.LabelSet], c.Envelope, k.dictionary)
	}
}

// collection is a cacher whose bodies use different dictionaries.
type collection struct {
	*session.Served
	rv api.ResourceVersion
}

func newCollection(n int) *collection {
	limits := history.Limits{MinCapacity: 32, MaxCapacity: 32}
	c := &collection{session.Serve(cacher.New(cacher.Config{Schema: objects.Pods(), History: limits})), 1}
	c.relist(n)
	return c
}

func (c *collection) relist(n int) {
	c.Listing().Begin()
	c.Upstream().SetClusterID("here")
	for i := range n {
		c.dictionary(i % 3)
		c.rv++
		c.Listing().Object(objects.Update(fmt.Sprintf("ns/%03d rv=%d app=%d body={}", i, c.rv, i%2)))
	}
	c.Listing().End(c.rv, 1000)
}

func (c *collection) dictionary(n int) {
	c.Bodies().SetDictionary([][]byte{nil, []byte("one"), []byte("two")}[n])
}

func (c *collection) change(i int) {
	c.dictionary(i % 3)
	c.rv++
	if i%4 == 3 {
		c.Delete(api.Key(fmt.Sprintf("ns/%03d", i)), c.rv, 1000)
		return
	}
	c.Apply(objects.Update(fmt.Sprintf("ns/%03d rv=%d app=%d body={}", i, c.rv, c.rv%7)), 1000)
}

// whole returns the complete state that a program should have.
func (c *collection) whole() map[api.Key]string {
	all := map[api.Key]string{}
	c.State().Ascend("", func(ref store.Ref) bool {
		h := c.Arena()
		all[h.Key(ref)] = fmt.Sprint(h.ResourceVersion(ref), h.LabelsOf(ref), h.Envelope(ref), string(c.Bodies().Dictionary(ref)))
		return true
	})
	return all
}

func (k *storedCollection) copy(c *collection, limit int, between func()) (from api.ResourceVersion, status *api.Status) {
	k.dictionaries, k.labels = map[uint32]string{}, map[uint32]api.Labels{}
	x, status := session.NewSnapshotReader(c.Collection, k.rv, "here")
	require.Nil(k.t, status)
	defer x.Close()
	for {
		var p session.SnapshotChunk // not reused, because k has keys that alias its buffers
		if status := x.Next(&p, limit); status != nil {
			return x.From(), status
		}
		require.EqualValues(k.t, len(p.Body), p.Info.Bytes)
		k.take(p.Frames[:p.Info.At])
		k.takeBody(&p)
		k.take(p.Frames[p.Info.At:])
		if p.Last {
			require.Equal(k.t, x.ResourceVersion(), k.rv)
			return x.From(), nil
		}
		between()
	}
}

// takeBody applies the body of a chunk, whose label sets are local to the body. It
// checks that the body matches Info.
func (k *storedCollection) takeBody(p *session.SnapshotChunk) {
	outside, had := k.labels, len(k.objects)
	k.labels = map[uint32]api.Labels{}
	k.take(p.Body)
	k.labels = outside
	require.Len(k.t, k.objects, had+int(p.Info.Objects))
	if p.Info.Objects > 0 {
		require.Contains(k.t, k.objects, p.Info.First)
		require.Equal(k.t, wire.BodySum(p.Body), p.Info.Sum)
	}
}

// A snapshot contains either the whole collection or its changes since a version, and is
// exact as of one version. The collection may change during the snapshot and use any
// dictionaries.
func TestG9_SnapshotOfAChangingCollection(t *testing.T) {
	for _, limit := range []int{1, 100, 1000, 1 << 20} {
		c := newCollection(20)
		k := &storedCollection{t: t}
		i := 0
		change := func() {
			for range min(i%3, 1) {
				c.change(i)
			}
			i++
		}
		from, status := k.copy(c, limit, change)
		require.Nil(t, status)
		require.Zero(t, from)
		require.Equal(t, c.whole(), k.objects)
		for range 10 {
			change()
			before := k.rv
			from, status = k.copy(c, limit, change)
			require.Nil(t, status)
			require.Equal(t, before, from, "a version in the window is resumed")
			require.Equal(t, c.whole(), k.objects)
		}
		for range 100 {
			c.change(i)
			i++
		}
		from, status = k.copy(c, limit, func() {})
		require.Nil(t, status)
		require.Zero(t, from, "a version that is too old starts over")
		require.Equal(t, c.whole(), k.objects)
		c.Fault("ns/000", c.rv+1, api.Internal("broken"), 1000)
		c.rv += 2
		c.Progress(c.rv, 1000)
		_, status = k.copy(c, limit, func() {})
		require.Nil(t, status)
		require.Equal(t, []string{"ns/000"}, k.faults)
		require.Equal(t, c.rv, k.rv, "progress moves the stored version")
	}
}

// A snapshot ends with a 410 if the collection is relisted or changes faster than it is
// read. If the stored state belongs to another source, the next snapshot contains the
// whole state.
func TestH8_OvertakenSnapshotEndsWith410(t *testing.T) {
	c := newCollection(20)
	k := &storedCollection{t: t}
	_, status := k.copy(c, 1, func() { c.relist(30) })
	require.Equal(t, 410, status.Code)
	i := 0
	_, status = k.copy(c, 1, func() {
		for range 100 {
			c.change(i)
			i++
		}
	})
	require.Equal(t, 410, status.Code)
	k = &storedCollection{t: t, rv: c.rv + 100}
	from, status := k.copy(c, 1000, func() {})
	require.Nil(t, status)
	require.Zero(t, from, "a future version cannot be resumed")
	c.Upstream().SetClusterID("there")
	from, status = k.copy(c, 1000, func() {})
	require.Nil(t, status)
	require.Zero(t, from)
}
