package core

import (
	"strconv"
	"testing"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// BenchmarkEngine_ingest measures the time per event of steady ingest. The events
// update 30,000 pods of 1.2 KB, in messages of 100 events. One watch and one view of 50
// rows are open.
func BenchmarkEngine_ingest(b *testing.B) {
	const pods, batch = 30_000, 100
	e, err := New((&wire.Config{}).Append(nil), nil)
	if err != nil {
		b.Fatal(err)
	}
	e.Tick(1)
	step := func(f interface{ Append([]byte) []byte }) {
		if err := e.Step(f.Append(nil)); err != nil {
			b.Fatal(err)
		}
		for e.Ready() != nil {
			e.Advance()
		}
	}
	receive := func(m []byte) { step(&wire.StreamData{Stream: 1, Data: m}) }
	body := make([]byte, 1200)
	change := func(i, rv int) wire.Change {
		k := api.Key("default/p" + strconv.Itoa(i))
		return wire.Change{Type: api.Modified, ResourceVersion: api.ResourceVersion(rv), LabelSet: uint32(i % 50), Key: k,
			Envelope: wire.AppendEnvelope(nil, &api.Object{
				Key: k, UID: "0f6a7c1e-5d6b-4f2e-9a44-" + k.Name(), Fields: []string{k.Name(), "default", "Running"},
				Columns: []api.Value{{Kind: api.String, Text: "Running"}, {Kind: api.Integer, Int: int64(rv % 7)}},
				Body:    api.Body{Codec: api.JSON, Data: body},
			})}
	}
	step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	step(&wire.StreamOpened{Stream: 1})
	receive((&wire.Welcome{Version: wire.Version, ProgressMillis: 5000}).Append(nil))
	receive((&wire.Schema{Subscription: 1, Schema: podSchema}).Append(nil))
	for i := range 50 {
		receive((&wire.LabelSet{Subscription: 1, ID: uint32(i), Labels: api.Labels{{Key: "app", Value: strconv.Itoa(i)}}}).Append(nil))
	}
	receive((&wire.SnapshotBegin{Subscription: 1, ResourceVersion: 1}).Append(nil))
	for i := 0; i < pods; i += batch {
		part := wire.SnapshotPart{Subscription: 1}
		for j := range batch {
			part.Objects = append(part.Objects, change(i+j, 1))
		}
		receive(part.Append(nil))
	}
	receive((&wire.SnapshotEnd{Subscription: 1, ResourceVersion: 1}).Append(nil))
	step(&wire.OpenWatch{Watch: 1, Collection: 1, LabelSelector: "app in (1,2,3)", ResourceVersion: "1"})
	step(&wire.OpenView{View: 1, Collection: 1, Sort: "-restarts", Limit: 50})

	rv := 1
	next := func() []byte {
		events := wire.Events{Subscription: 1}
		for range batch {
			rv++
			events.Changes = append(events.Changes, change(rv*7919%pods, rv))
		}
		events.ResourceVersion = api.ResourceVersion(rv)
		return events.Append(nil)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		b.StopTimer()
		message := next()
		b.StartTimer()
		receive(message)
		n++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*batch), "ns/event")
}
