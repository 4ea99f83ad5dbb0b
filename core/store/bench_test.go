package store

import (
	"strconv"
	"testing"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// BenchmarkStoreUpdate measures the steady state of a collection: a new version
// of one of 30,000 objects.
func BenchmarkStoreUpdate(b *testing.B) {
	const objects = 30_000
	h := NewArena()
	s := New(h)
	envelopes := make([]wire.Envelope, objects)
	for i := range envelopes {
		o := api.Object{Key: keyOf(i), UID: "6c3a1b9e-0d7f-4c55-9f64-2f2f3a9f7a01", Fields: []string{"node-1", "Running"}}
		o.Body = api.Body{Codec: api.Packed, Data: make([]byte, 800)}
		envelopes[i] = wire.AppendEnvelope(nil, &o)
	}
	labels := labelsOf("app", "web", "pod-template-hash", "5d8f7c9b4")
	update := func(i int) {
		h.Release(s.Set(h.Put(Version{
			ResourceVersion: api.ResourceVersion(i), LabelSet: h.Labels.Intern(labels), Envelope: envelopes[i%objects],
		})))
	}
	for i := range objects {
		update(i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		update(i * 7919)
	}
	b.ReportMetric(float64(h.ReservedBytes())/objects, "B/object")
}

func BenchmarkOrdered(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		o := newNumbers()
		for i := range n {
			o.Append(ID(2*i + 1))
		}
		random := randomOf(1)
		b.Run("Move/"+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				r := ID(2 * random.Intn(n))
				o.Insert(r)
				o.Remove(r)
			}
		})
	}
}
