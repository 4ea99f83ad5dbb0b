package store

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

func TestArenaReturnsStoredVersions(t *testing.T) {
	h := NewArena()
	o := api.Object{Key: "default/a", UID: "u", Fields: []string{"f"}, Body: api.Body{Codec: api.Packed, Data: []byte("body")}}
	envelope := wire.AppendEnvelope(nil, &o)
	ref := h.Put(Version{
		ResourceVersion: 7, Flags: api.Immutable, LabelSet: h.Labels.Intern(labelsOf("app", "web")), Dictionary: 3,
		Envelope: envelope,
	})
	clear(envelope) // the arena must have its own copy
	assert.EqualValues(t, 7, h.ResourceVersion(ref))
	assert.Equal(t, api.Immutable, h.Flags(ref))
	assert.Equal(t, "app=web", h.LabelsOf(ref).String())
	assert.EqualValues(t, 3, h.Dictionary(ref))
	assert.Equal(t, api.Key("default/a"), h.Key(ref))
	assert.Equal(t, wire.Envelope(wire.AppendEnvelope(nil, &o)), h.Envelope(ref))
	assert.Equal(t, 1, h.Versions())
}

func TestArenaCountsReferences(t *testing.T) {
	h := NewArena()
	assert.Zero(t, h.Retain(0), "zero stays zero")
	h.Release(0)

	a := put(h, "a", 1, 10)
	assert.Equal(t, a, h.Retain(a))
	h.Release(a)
	assert.Equal(t, 1, h.Versions(), "one reference remains")
	assert.Equal(t, api.Key("a"), h.Key(a))
	h.Release(a)
	assert.Zero(t, h.Versions())
	assert.Zero(t, h.UsedBytes())

	b := put(h, "b", 2, 10)
	assert.Equal(t, a, b, "the slot is reused")
	assert.EqualValues(t, 2, h.ResourceVersion(b))
	assert.Zero(t, h.LabelSet(b))
}

func TestArenaReusesFreedMemory(t *testing.T) {
	h := NewArena()
	random := randomOf(1)
	var refs []Ref
	for i := range 2000 {
		refs = append(refs, put(h, keyOf(i), 1, random.Intn(3000), "i", string(keyOf(i%50))))
	}
	assert.GreaterOrEqual(t, h.ReservedBytes(), h.UsedBytes())
	assert.Greater(t, h.UsedBytes(), h.slab.used+2000*recordSize, "label sets count")
	assert.Equal(t, 51, h.Labels.Len())
	for _, ref := range refs {
		h.Release(ref)
	}
	assert.Zero(t, h.UsedBytes())
	assert.Zero(t, h.Versions())
	assert.Equal(t, 1, h.Labels.Len(), "only the empty set is left")
	assert.LessOrEqual(t, h.ReservedBytes(), maxChunk+len(h.pages)*pageSize*recordSize, "one chunk stays")
}

func TestRecordSize(t *testing.T) {
	assert.EqualValues(t, recordSize, unsafe.Sizeof(record{}))
}

func TestEqualLabelSetsShareAnID(t *testing.T) {
	h := NewArena()
	assert.Zero(t, h.Labels.Intern(nil), "number 0 is the empty set")
	scratch := []byte("web")
	text := unsafe.String(&scratch[0], 3)
	web := h.Labels.Intern(labelsOf("app", text))
	copy(scratch, "xxx")
	assert.Equal(t, "app=web", h.Labels.Labels(web).String(), "labels are copied")
	assert.Equal(t, web, h.Labels.Intern(labelsOf("app", "web")))
	assert.NotEqual(t, web, h.Labels.Intern(labelsOf("ap", "pweb")), "lengths keep sets apart")
	assert.NotEqual(t, web, h.Labels.Intern(labelsOf("app", "web", "tier", "")))
}

func TestEachFreedReportsFreedLabelSets(t *testing.T) {
	h := NewArena()
	freed := func() (ids []uint32) {
		require.True(t, h.Labels.EachFreed(0, func(id uint32) { ids = append(ids, id) }))
		require.Len(t, ids, h.Labels.Freed())
		return ids
	}
	a, b := put(h, "a", 1, 0, "app", "web"), put(h, "b", 1, 0, "app", "web")
	id := h.LabelSet(a)
	require.Equal(t, id, h.LabelSet(b))
	assert.Zero(t, h.Labels.Generation(id))
	h.Release(a)
	assert.Empty(t, freed())
	h.Release(b)
	assert.Equal(t, []uint32{id}, freed())
	c := put(h, "c", 1, 0, "app", "db")
	assert.Equal(t, id, h.LabelSet(c), "the number is reused")
	assert.EqualValues(t, 1, h.Labels.Generation(id), "the generation differs")
	assert.Equal(t, "app=db", h.LabelsOf(c).String())

	empty := put(h, "d", 1, 0)
	h.Release(empty)
	assert.Equal(t, []uint32{id}, freed(), "the empty set is never freed")
}

func TestRetainAgainFailsForFreedLabelSets(t *testing.T) {
	h := NewArena()
	web := put(h, "a", 1, 0, "app", "web")
	id := h.LabelSet(web)
	h.Release(web)
	assert.False(t, h.Labels.RetainAgain(id, 0), "it is freed")
	db := put(h, "b", 1, 0, "app", "db")
	require.Equal(t, id, h.LabelSet(db))
	assert.False(t, h.Labels.RetainAgain(id, 0), "it is another set")
	assert.False(t, h.Labels.RetainAgain(NoLabelSet, 0))
	require.True(t, h.Labels.RetainAgain(id, 1))
	h.Release(db)
	assert.Equal(t, "app=db", h.Labels.Labels(id).String(), "a reference remains")
	h.Labels.Release(id)
	assert.False(t, h.Labels.RetainAgain(id, 1))
}

func TestEachFreedRefusesTooManyLabelSets(t *testing.T) {
	h := NewArena()
	var freed []uint32
	for i := range 3000 {
		a, b := h.Labels.Intern(labelsOf("a", string(keyOf(i)))), h.Labels.Intern(labelsOf("b", string(keyOf(i))))
		h.Labels.Release(b)
		h.Labels.Release(a)
		freed = append(freed, b, a)
	}
	require.Equal(t, len(freed), h.Labels.Freed())
	for since := range freed {
		var reported []uint32
		if h.Labels.EachFreed(since, func(id uint32) { reported = append(reported, id) }) {
			require.Equal(t, freed[since:], reported)
		} else {
			require.Greater(t, len(freed)-since, 1024)
			require.Empty(t, reported)
		}
	}
}

// An arena agrees with a map after any sequence of operations.
func TestArenaAgainstModel(t *testing.T) {
	type version struct {
		key    api.Key
		rv     api.ResourceVersion
		size   int
		labels string
		refs   int
	}
	h, random := NewArena(), randomOf(2)
	model := map[Ref]*version{}
	var live []Ref
	for step := range 20000 {
		switch {
		case random.Intn(3) > 0 || len(live) == 0:
			size := random.Intn(300)
			if random.Intn(200) == 0 {
				size = 50_000 + random.Intn(50_000)
			}
			label := string(keyOf(random.Intn(40)))
			v := &version{keyOf(random.Intn(1000)), api.ResourceVersion(step), size, label, 1}
			ref := put(h, v.key, v.rv, v.size, "l", v.labels)
			require.Nil(t, model[ref], "a used slot was allocated")
			model[ref] = v
			live = append(live, ref)
		case random.Intn(3) == 0:
			ref := live[random.Intn(len(live))]
			h.Retain(ref)
			model[ref].refs++
		default:
			i := random.Intn(len(live))
			ref := live[i]
			v := model[ref]
			require.Equal(t, v.key, h.Key(ref))
			require.Equal(t, v.rv, h.ResourceVersion(ref))
			require.Len(t, h.Envelope(ref).Body().Data, v.size)
			require.Equal(t, "l="+v.labels, h.LabelsOf(ref).String())
			h.Release(ref)
			if v.refs--; v.refs == 0 {
				delete(model, ref)
				live[i] = live[len(live)-1]
				live = live[:len(live)-1]
			}
		}
		require.Equal(t, len(model), h.Versions())
	}
}

// The arena contains few pointers, so the garbage collector scans little.
func TestArenaHasFewPointers(t *testing.T) {
	h := NewArena()
	for i := range 100_000 {
		put(h, keyOf(i), 1, 100, "app", string(keyOf(i%10)))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	objects := before.HeapObjects
	runtime.KeepAlive(h)
	h = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(t, int64(objects)-int64(after.HeapObjects), int64(500))
}
