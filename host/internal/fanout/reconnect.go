package main

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// measureReconnect connects all readers at the same time. Each reader requests the complete
// state. Meanwhile, another goroutine measures how long it waits for the connector's lock.
func measureReconnect(ctx context.Context, o options) error {
	s, err := startConnector(ctx, objects, 1)
	if err != nil {
		return err
	}
	defer s.close()
	idle := make(chan struct{})
	time.AfterFunc(time.Second, func() { close(idle) })
	calm := s.waits(idle)

	done := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(done)
		s.readers, err = startReaders(ctx, s.url, connectorKind, o.readers, o.readers)
	}()
	storm := s.waits(done)
	if err != nil {
		return err
	}
	bytes := s.connector.Stats().Totals.BytesOut
	return print(o, result{
		Figure: "reconnect", Case: strconv.Itoa(o.readers), Ratio: percentile(storm, 99), Unit: "ms",
		Sides: []value{
			{"median", percentile(storm, 50), "ms"}, {"p99", percentile(storm, 99), "ms"}, {"longest", percentile(storm, 100), "ms"},
			{"p99-before", percentile(calm, 99), "ms"},
			{"all-synced-after", time.Since(began).Seconds(), "s"}, {"sent", float64(bytes) / 1e6, "MB"},
		},
	})
}

// waits acquires the lock of the connector about every millisecond until done is closed.
// It returns how long each acquisition took, in milliseconds.
func (s *connectorSide) waits(done <-chan struct{}) (list []float64) {
	for {
		select {
		case <-done:
			return list
		default:
		}
		began := time.Now()
		s.connector.Stats()
		list = append(list, time.Since(began).Seconds()*1000)
		rest()
	}
}

func percentile(list []float64, p int) float64 {
	slices.Sort(list)
	return list[min(len(list)*p/100, len(list)-1)]
}
