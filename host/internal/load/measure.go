//go:build linux

package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// latencies collects the times from a write to its arrival at a healthy reader.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

// take returns the latencies since its last call.
func (l *latencies) take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// sample is the result of one measurement, or the combined result of several measurements.
type sample struct {
	latencies     []time.Duration
	p50, p99      time.Duration // of the latencies
	memory        int64         // maximum memory of the connector
	busy, elapsed time.Duration // processor time of the connector, and duration of the measurement
	refused       map[string]int
	ended         []error // why connections of healthy readers ended
}

// cores returns the processor time divided by the elapsed time.
func (s *sample) cores() float64 { return float64(s.busy) / float64(max(s.elapsed, 1)) }

// add adds the results of another measurement under the same conditions to the sample.
func (s *sample) add(o sample) {
	s.latencies = append(s.latencies, o.latencies...)
	slices.Sort(s.latencies)
	if n := len(s.latencies); n > 0 {
		s.p50, s.p99 = s.latencies[n/2], s.latencies[n*99/100]
	}
	s.memory = max(s.memory, o.memory)
	s.busy, s.elapsed = s.busy+o.busy, s.elapsed+o.elapsed
	if s.refused == nil {
		s.refused = map[string]int{}
	}
	for name, n := range o.refused {
		s.refused[name] += n
	}
}

// measure measures the connector until ctx is done or the function done returns true.
func (m *measurement) measure(ctx context.Context, done func(refused map[string]int) bool) (s sample, err error) {
	before, err := m.target.refusals()
	if err != nil {
		return s, err
	}
	busy, err := m.target.busy()
	if err != nil {
		return s, err
	}
	m.latency.take()
	started := time.Now()
	for {
		memory, err := m.target.memory()
		if err != nil {
			return s, err
		}
		s.memory = max(s.memory, memory)
		if s.refused, err = m.target.refusals(); err != nil {
			return s, err
		}
		for name, n := range before {
			s.refused[name] -= n
		}
		if done(s.refused) || !sleep(ctx, 100*time.Millisecond) {
			break
		}
	}
	now, err := m.target.busy()
	s.busy, s.elapsed, s.latencies = now-busy, time.Since(started), m.latency.take()
	return s, err
}
