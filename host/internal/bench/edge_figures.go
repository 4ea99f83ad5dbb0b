package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

const (
	edgeObjects = 10_000
	edgeRounds  = 5
	// edgeIdle is longer than the time after which the runtime evicts an idle Durable
	// Object from memory.
	edgeIdle = 13 * time.Second
	// wakeTries is the number of attempts to measure a wake-up. An attempt fails if the
	// object is in memory before the event, for example because an alarm woke it.
	wakeTries = 3
)

// edgeFigures are the figures of the edge. They run only on request, because they spend
// most of their time waiting.
var edgeFigures = []figure{
	{"E1", "from waking up with 10,000 objects to the first event, against a cold start with a snapshot of the cluster", []target{
		{atMost: 1.0 / 3},
	}, runWake},
	{"E2", "events delivered per CPU second through an object, against a plain Durable Object that parses and re-serialises", []target{
		{name: "alone", atLeast: 5}, {name: "burst-1-reader", atLeast: 5},
		{name: "burst-10-readers", atLeast: 5}, {name: "burst-100-readers", atLeast: 5},
	}, runDelivery},
	{"E3", "readers of an object until the 99th percentile of delivery doubles from that of ten", nil, runCrowd},
	{"E4", "bytes stored per object, against its JSON", []target{
		{atMost: 1.0 / 4},
	}, runStored},
}

// runWake measures E1. In a cold start, the connector connects, the Durable Object receives
// the snapshot, and a reader receives the snapshot and then an event from the object. In a
// wake-up, an event wakes an evicted object, which delivers the event to a connected
// reader.
func runWake(ctx context.Context, b *bench) ([]Result, error) {
	// Each side runs in a separate runtime, so that the sides do not affect each other.
	starting, err := startEdge(ctx, b, edgeObjects)
	if err != nil {
		return nil, err
	}
	defer starting.close()
	e, err := startEdge(ctx, b, edgeObjects)
	if err != nil {
		return nil, err
	}
	defer e.close()
	if err := e.feed(ctx, "edge/wake"); err != nil {
		return nil, err
	}
	if _, err := e.until(ctx, "edge/wake", 10*time.Millisecond, live(e.world.handed)); err != nil {
		return nil, err
	}
	arrivals := make(chan time.Time, 1)
	r, err := e.read(ctx, "edge/wake", func(_ api.ResourceVersion, at time.Time) { arrivals <- at })
	if err != nil {
		return nil, err
	}
	defer r.close()
	var cold, wake, ratios []float64
	for round := range edgeRounds {
		started, err := starting.coldStart(ctx, "edge/cold-"+strconv.Itoa(round))
		if err != nil {
			return nil, err
		}
		woken, err := e.wake(ctx, b, arrivals)
		if err != nil {
			return nil, err
		}
		b.logf("  cold %.0f ms, wake %.0f ms", started, woken)
		cold, wake, ratios = append(cold, started), append(wake, woken), append(ratios, woken/started)
	}
	return []Result{{Ratio: median(ratios), Sides: []Side{
		{"wake to event", median(wake), "ms"}, {"cold start", median(cold), "ms"},
	}}}, nil
}

// wake waits until the Durable Object is evicted, and then changes a pod. It returns the
// milliseconds from the change to the arrival of its event at the reader.
func (e *edge) wake(ctx context.Context, b *bench, arrivals <-chan time.Time) (float64, error) {
	for range wakeTries {
		b.logf("  waiting until the object is out of memory")
		time.Sleep(edgeIdle)
		start := time.Now()
		if err := e.change(ctx, 1); err != nil {
			return 0, err
		}
		var at time.Time
		select {
		case at = <-arrivals:
		case err := <-e.lost:
			return 0, err
		}
		status, err := e.status(ctx, "edge/wake")
		if err != nil {
			return 0, err
		}
		if status.AwakeSince >= start.UnixMilli() { // no alarm woke the object before the event
			return milliseconds(at.Sub(start)), nil
		}
	}
	return 0, fmt.Errorf("the object stayed in memory, %d times for %s", wakeTries, edgeIdle)
}

// coldStart feeds a new Durable Object, and returns the milliseconds until a reader has
// received an event.
func (e *edge) coldStart(ctx context.Context, object string) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	if err := e.feed(ctx, object); err != nil {
		return 0, err
	}
	if _, err := e.until(ctx, object, 2*time.Millisecond, live(e.world.handed)); err != nil {
		return 0, err
	}
	arrivals := make(chan time.Time, 1)
	r, err := e.read(ctx, object, func(_ api.ResourceVersion, at time.Time) { arrivals <- at })
	if err != nil {
		return 0, err
	}
	defer r.close()
	if err := e.change(ctx, 1); err != nil {
		return 0, err
	}
	select {
	case at := <-arrivals:
		return milliseconds(at.Sub(start)), nil
	case err := <-e.lost:
		return 0, err
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// delivery is one case of E2. The cases differ in the number of events per message, which
// is one or a burst, and in the number of readers. The readers use no selectors.
type delivery struct {
	name             string
	batch, readers   int
	messages, warmUp int // number of messages per round, and before the first round
}

var deliveries = []delivery{
	{"alone", 1, 10, 500, 1000},
	{"burst-1-reader", updateBatch, 1, 400, 100},
	{"burst-10-readers", updateBatch, 10, 300, 100},
	{"burst-100-readers", updateBatch, 100, 60, 50},
}

// deliveryPause is the time between messages. It is long enough that the object does not
// merge messages.
const deliveryPause = 2 * time.Millisecond

// runDelivery measures E2. The runtime's cost per message limits the ratio. An object that
// forwards messages without reading them shows this limit. Each compared object runs in a
// separate runtime, and their rounds alternate.
func runDelivery(ctx context.Context, b *bench) ([]Result, error) {
	var results []Result
	for _, d := range deliveries {
		b.logf("  %s", d.name)
		measured, err := d.run(ctx, b)
		if err != nil {
			return results, err
		}
		results = append(results, measured...)
	}
	return results, nil
}

// deliverer is a function that sends a number of messages. Before it sends the next
// message, it waits until every reader has received the previous message.
type deliverer func(messages int) error

func (d *delivery) run(ctx context.Context, b *bench) ([]Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the readers
	kinds := []func(*edge, context.Context, *delivery) (deliverer, error){(*edge).oursDelivered, (*edge).plainDelivered, (*edge).forwarded}
	sides := make([]deliveringSide, len(kinds))
	for i, kind := range kinds {
		e, err := startEdge(ctx, b, edgeObjects)
		if err != nil {
			return nil, err
		}
		defer e.close()
		deliver, err := kind(e, ctx, d)
		if err != nil {
			return nil, err
		}
		if err := deliver(d.warmUp); err != nil {
			return nil, err
		}
		sides[i] = deliveringSide{edge: e, deliver: deliver}
	}
	var ours, floor []float64
	for round := range edgeRounds {
		for i := range sides {
			if err := sides[i].round(d); err != nil {
				return nil, err
			}
		}
		plain := sides[1].speeds[round]
		ours, floor = append(ours, sides[0].speeds[round]/plain), append(floor, sides[2].speeds[round]/plain)
	}
	side := func(name string, i int) Side { return Side{name, median(sides[i].speeds), "/s"} }
	return []Result{
		{Case: d.name, Ratio: median(ours), Sides: []Side{side("ours", 0), side("plain", 1)}},
		{Case: d.name + "-at-most", Ratio: median(floor), Sides: []Side{side("forwarding", 2), side("plain", 1)}},
	}, nil
}

// deliveringSide is one of the compared ways to forward events, in a separate runtime.
type deliveringSide struct {
	edge    *edge
	deliver deliverer
	speeds  []float64 // delivered events per second of processor time, by round
}

func (s *deliveringSide) round(d *delivery) error {
	before, err := s.edge.cpu()
	if err != nil {
		return err
	}
	if err := s.deliver(d.messages); err != nil {
		return err
	}
	after, err := s.edge.cpu()
	s.speeds = append(s.speeds, float64(d.messages*d.batch*d.readers)/(after-before).Seconds())
	return err
}

func (e *edge) oursDelivered(ctx context.Context, d *delivery) (deliverer, error) {
	if err := e.feed(ctx, "edge/delivery"); err != nil {
		return nil, err
	}
	if _, err := e.until(ctx, "edge/delivery", 10*time.Millisecond, live(e.world.handed)); err != nil {
		return nil, err
	}
	var all []*edgeReader
	for range d.readers {
		r, err := e.read(ctx, "edge/delivery", func(api.ResourceVersion, time.Time) {})
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return func(messages int) error {
		for range messages {
			if err := e.change(ctx, d.batch); err != nil {
				return err
			}
			for _, r := range all {
				if err := r.until(e.world.handed); err != nil {
					return err
				}
			}
			time.Sleep(deliveryPause)
		}
		return nil
	}, nil
}

func (e *edge) plainDelivered(ctx context.Context, d *delivery) (deliverer, error) {
	var lines [][]byte
	e.world.tap = func(t api.EventType, c source.Change) {
		if t == api.Modified {
			lines = append(lines, appendEvent(nil, c))
		}
	}
	return e.passed(ctx, d, "plain", websocket.MessageText, func() ([]byte, error) {
		lines = lines[:0]
		err := e.change(ctx, d.batch)
		return bytes.Join(lines, []byte("\n")), err
	})
}

// forwardedBytes is the typical size, in bytes, of an encoded change to a pod.
const forwardedBytes = 120

func (e *edge) forwarded(ctx context.Context, d *delivery) (deliverer, error) {
	message := make([]byte, d.batch*forwardedBytes)
	return e.passed(ctx, d, "forward", websocket.MessageBinary, func() ([]byte, error) { return message, nil })
}

// passed connects a feed and readers to a Durable Object of js/bench/edge. The object sends
// one message to each reader for each message that it receives.
func (e *edge) passed(ctx context.Context, d *delivery, kind string, encoding websocket.MessageType, next func() ([]byte, error)) (deliverer, error) {
	feed, err := e.dial(ctx, kind+"/delivery", "feed")
	if err != nil {
		return nil, err
	}
	got := make(chan struct{}, d.readers)
	for range d.readers {
		ws, err := e.dial(ctx, kind+"/delivery", "watch")
		if err != nil {
			return nil, err
		}
		go func() { // ends with ctx
			for {
				if _, _, err := ws.Read(ctx); err != nil {
					e.lose(fmt.Errorf("a reader was disconnected: %w", err))
					return
				}
				got <- struct{}{}
			}
		}()
	}
	return func(messages int) error {
		for range messages {
			message, err := next()
			if err != nil {
				return err
			}
			if err := feed.Write(ctx, encoding, message); err != nil {
				return err
			}
			for range d.readers {
				select {
				case <-got:
				case err := <-e.lost:
					return err
				}
			}
			time.Sleep(deliveryPause)
		}
		return nil
	}, nil
}

// crowds are the numbers of readers in E3.
var crowds = []int{10, 30, 100, 200, 300, 500, 700, 1000, 1500, 2000, 3000}

const (
	crowdEvents = 300
	crowdPause  = 50 * time.Millisecond
)

// runCrowd measures E3: how many readers a Durable Object can serve before the 99th
// percentile of the delivery times doubles. The readers run on the same machine as the
// object, so the readers' side of a few thousand sockets also loads the machine.
func runCrowd(ctx context.Context, b *bench) ([]Result, error) {
	e, err := startEdge(ctx, b, 1000)
	if err != nil {
		return nil, err
	}
	defer e.close()
	if err := e.feed(ctx, "edge/crowd"); err != nil {
		return nil, err
	}
	if _, err := e.until(ctx, "edge/crowd", 10*time.Millisecond, live(e.world.handed)); err != nil {
		return nil, err
	}
	latencies := make(chan float64, 1<<20)
	var handed time.Time
	arrived := func(_ api.ResourceVersion, at time.Time) { latencies <- milliseconds(at.Sub(handed)) }
	var all []*edgeReader
	defer func() {
		for _, r := range all {
			r.close()
		}
	}()
	var first, last float64
	fit := 0
	for _, n := range crowds {
		for len(all) < n {
			r, err := e.read(ctx, "edge/crowd", arrived)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
		var seen []float64
		for range crowdEvents {
			handed = time.Now()
			if err := e.change(ctx, 1); err != nil {
				return nil, err
			}
			for range all {
				select {
				case latency := <-latencies:
					seen = append(seen, latency)
				case err := <-e.lost:
					return nil, err
				}
			}
			time.Sleep(crowdPause)
		}
		slices.Sort(seen)
		last = seen[len(seen)*99/100]
		b.logf("  %d readers: %.1f ms", n, last)
		if first == 0 {
			first = last
		}
		if last > 2*first {
			break
		}
		fit = n
	}
	return []Result{{Ratio: float64(fit), Unit: "readers", Sides: []Side{
		{"10 readers", first, "ms"}, {"beyond", last, "ms"},
	}}}, nil
}

// runStored measures E4: the bytes stored per Kubernetes object.
func runStored(ctx context.Context, b *bench) ([]Result, error) {
	e, err := startEdge(ctx, b, edgeObjects)
	if err != nil {
		return nil, err
	}
	defer e.close()
	if err := e.feed(ctx, "edge/stored"); err != nil {
		return nil, err
	}
	status, err := e.until(ctx, "edge/stored", 200*time.Millisecond, func(s *objectStatus) bool {
		return s.Resources["v1/pods"].Stored != nil
	})
	if err != nil {
		return nil, err
	}
	ours, theirs := float64(status.Storage.Bytes)/edgeObjects, float64(e.json)/edgeObjects
	return []Result{{Ratio: ours / theirs, Sides: []Side{{"stored", ours, "B"}, {"JSON", theirs, "B"}}}}, nil
}
