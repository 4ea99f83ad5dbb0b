package main

import (
	"context"
	"runtime"
	"slices"
	"time"
)

// syncing contains the results of one round.
type syncing struct {
	ours, plain          float64 // processor seconds
	bytes, messages      uint64  // sent to each reader
	perObject, perReader float64 // live memory of the connector, in bytes
}

// measureSync starts connectors to which all readers connect at the same time. Each reader
// requests the complete state, which the connector has not encoded before. The broadcast
// accepts as many connections and sends as many messages of the same size.
func measureSync(ctx context.Context, o options) error {
	if o.profile != "" {
		_, err := syncRound(ctx, o)
		return err
	}
	var ours, plain, ratios, objects, readers []float64
	var last syncing
	for range o.rounds {
		s, err := syncRound(ctx, o)
		if err != nil {
			return err
		}
		ours, plain, ratios = append(ours, s.ours), append(plain, s.plain), append(ratios, s.ours/s.plain)
		objects, readers = append(objects, s.perObject), append(readers, s.perReader)
		last = s
	}
	if err := print(o, result{Figure: "P17", Ratio: median(ratios), Sides: []value{
		{"ours", median(ours), "s"}, {"broadcast", median(plain), "s"},
		{"readers", float64(o.readers), ""}, {"sent to each", float64(last.bytes) / 1e6, "MB"},
	}}); err != nil {
		return err
	}
	// If memory of an earlier round is freed during a round, the round measures too little.
	// The largest measurement is therefore the most accurate.
	if err := print(o, result{Figure: "P16", Case: "object", Ratio: slices.Max(objects), Unit: "B", Sides: []value{{"objects", syncedObjects, ""}}}); err != nil {
		return err
	}
	return print(o, result{Figure: "P16", Case: "reader", Ratio: median(readers), Unit: "B", Sides: []value{{"readers", float64(o.readers), ""}}})
}

func syncRound(ctx context.Context, o options) (r syncing, err error) {
	readers := o.readers
	s, err := startConnector(ctx, syncedObjects, 1)
	if err != nil {
		return r, err
	}
	defer s.close()
	connect := func() (err error) {
		before := processorTime()
		s.readers, err = startReaders(ctx, s.url, syncKind, readers, readers)
		r.ours = (processorTime() - before).Seconds()
		return err
	}
	if o.profile != "" {
		return r, profiled(o.profile, connect)
	}
	if err := connect(); err != nil {
		return r, err
	}
	totals := s.connector.Stats().Totals
	r.bytes, r.messages = totals.BytesOut/uint64(readers), totals.Messages/uint64(readers)
	idle := liveMemory()
	s.readers.close()
	s.readers = nil
	for s.connector.Stats().Readers > 0 {
		rest()
	}
	held := liveMemory()
	r.perObject, r.perReader = (float64(held)-float64(s.empty))/syncedObjects, (float64(idle)-float64(held))/float64(readers)

	before := processorTime()
	b, err := newBroadcastSide(ctx, readers, readers, int(r.bytes/r.messages))
	if err != nil {
		return r, err
	}
	defer b.close()
	b.prepare(int(r.messages))
	if err := b.round(); err != nil {
		return r, err
	}
	r.plain = (processorTime() - before).Seconds()
	return r, nil
}

// liveMemory returns the number of bytes in use by the heap and the stacks. It does not
// count buffers of the kernel.
func liveMemory() uint64 {
	var m runtime.MemStats
	for range 3 { // a sync.Pool keeps its content during one collection, and goroutines need time to end
		runtime.GC()
		time.Sleep(50 * time.Millisecond)
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
