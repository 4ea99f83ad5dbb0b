//go:build linux

package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// latencies are the times from a write to its arrival at healthy readers.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

// take returns the median, the 99th percentile and the number since the last call.
func (l *latencies) take() (p50, p99 time.Duration, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.all)
	if n = len(l.all); n > 0 {
		p50, p99 = l.all[n/2], l.all[n*99/100]
	}
	l.all = nil
	return p50, p99, n
}

// sample is the result of one measurement.
type sample struct {
	p50, p99 time.Duration
	samples  int     // number of latencies
	memory   int64   // maximum memory
	cores    float64 // processor time divided by elapsed time
	refused  map[string]int
	ended    []error // why connections of healthy readers ended
}

// measure observes the connector until ctx ends, or until done returns true.
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
	s.cores = float64(now-busy) / float64(time.Since(started))
	s.p50, s.p99, s.samples = m.latency.take()
	return s, err
}
