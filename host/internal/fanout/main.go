package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// options are the command-line options.
type options struct {
	readers   int
	events    int
	rounds    int
	shares    []int
	asJSON    bool
	reconnect bool
	sync      bool
	profile   string
}

func main() {
	var o options
	flag.IntVar(&o.readers, "readers", 1000, "how many readers there are")
	flag.IntVar(&o.events, "events", 200, "changes in each round")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of either side; the median counts")
	flag.BoolVar(&o.asJSON, "json", false, "print one JSON object per line")
	flag.BoolVar(&o.reconnect, "reconnect", false, "measure what others feel while all readers reconnect")
	flag.BoolVar(&o.sync, "sync", false, "measure simultaneous first syncs, and the memory of the connector")
	flag.StringVar(&o.profile, "cpuprofile", "", "write a profile of the connector's rounds, and leave the broadcast out; with -share or -sync")
	share := flag.Int("share", 0, "how many readers each change matches; 0 for all cases: 10, 100 and all")
	child := flag.String("child", "", "be the readers of the server at this URL; used by the program itself")
	kind := flag.String("kind", "", "what sends to the readers: "+connectorKind+", "+syncKind+" or "+broadcastKind)
	flag.Parse()
	o.shares = []int{10, 100, o.readers}
	if *share > 0 {
		o.shares = []int{*share}
	}
	var err error
	switch {
	case *child != "":
		err = runReaders(context.Background(), *child, *kind, o.readers, o.shares[0])
	case o.sync:
		err = measureSync(context.Background(), o)
	case o.reconnect:
		err = measureReconnect(context.Background(), o)
	default:
		err = measureAll(context.Background(), o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fanout:", err)
		os.Exit(1)
	}
}

func measureAll(ctx context.Context, o options) error {
	for _, share := range o.shares {
		if err := measure(ctx, o, share); err != nil {
			return err
		}
	}
	return nil
}

// side is one side of the comparison: the connector or the broadcast.
type side interface {
	// prepare generates the events of a round. Its processor time is not measured.
	prepare(events int)
	// round sends the events, and returns when all of them are written.
	round() error
	close()
}

func measure(ctx context.Context, o options, share int) error {
	ours, err := newConnectorSide(ctx, o.readers, share)
	if err != nil {
		return err
	}
	defer ours.close()
	if o.profile != "" {
		return profiled(o.profile, func() error { return rounds(o, ours, new([]float64), share) })
	}
	ours.prepare(o.events)
	if err := ours.round(); err != nil { // warms up, and determines the size of the broadcast's messages
		return err
	}
	plain, err := newBroadcastSide(ctx, o.readers, share, ours.messageBytes())
	if err != nil {
		return err
	}
	defer plain.close()
	var a, b []float64
	for range o.rounds {
		one := o
		one.rounds = 1
		if err := rounds(one, ours, &a, share); err != nil {
			return err
		}
		if err := rounds(one, plain, &b, share); err != nil {
			return err
		}
	}
	return report(o, share, median(a), median(b), ours.messageBytes())
}

// rounds runs rounds of one side. For each round, it appends the microseconds of processor
// time per delivered event to the slice "into".
func rounds(o options, s side, into *[]float64, share int) error {
	for range o.rounds {
		s.prepare(o.events)
		before := processorTime()
		if err := s.round(); err != nil {
			return err
		}
		spent := processorTime() - before
		*into = append(*into, float64(spent.Nanoseconds())/1000/float64(o.events*share))
	}
	return nil
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // impossible with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

type result struct {
	Figure string  `json:"figure"`
	Case   string  `json:"case"`
	Ratio  float64 `json:"ratio"`
	Unit   string  `json:"unit,omitempty"`
	Sides  []value `json:"sides"`
}

type value struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

func report(o options, share int, ours, plain float64, size int) error {
	return print(o, result{
		Figure: "P8", Case: fmt.Sprintf("%d-of-%d", share, o.readers), Ratio: ours / plain,
		Sides: []value{{"ours", ours, "us/event"}, {"broadcast", plain, "us/event"}, {"message", float64(size), "B"}},
	})
}

func print(o options, r result) error {
	if o.asJSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	unit := r.Unit
	if unit == "" {
		unit = "x"
	}
	text := ""
	for i, s := range r.Sides {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %.3g %s", s.Name, s.Value, s.Unit)
	}
	_, err := fmt.Printf("bench %s %s %.2f%s (%s)\n", r.Figure, r.Case, r.Ratio, unit, text)
	return err
}
