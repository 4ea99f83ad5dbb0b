//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// patience limits each wait. It is long enough that only a failing measurement reaches
// it.
const patience = 5 * time.Minute

// sampled is the number of healthy readers whose latency is measured.
const sampled = 50

// measurement is the state of a run.
type measurement struct {
	Config
	cluster *cluster
	target  *process // the connector
	latency latencies
	report  report

	running   sync.WaitGroup
	stop      context.CancelFunc // ends all clients
	healthy   []*reader
	informers []*informer
	mu        sync.Mutex
	ended     []error // why connections of healthy readers ended
}

// Run runs the whole measurement and returns its report.
func Run(ctx context.Context, c Config) (*report, error) {
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return nil, err
	}
	clients, stop := context.WithCancel(ctx)
	m := &measurement{Config: c, stop: stop}
	defer m.close()
	var err error
	starting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m.cluster, err = startCluster(starting, c)
	if err != nil {
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	flags := append([]string{"--kubeconfig", m.cluster.config, "--auth", "kube"}, c.Serve...)
	if m.target, err = serve(starting, c.Binary, filepath.Join(c.Dir, "connector.log"), flags...); err != nil {
		return nil, err
	}
	if err := m.connect(clients, starting); err != nil {
		return nil, err
	}
	if err := m.abuse(ctx); err != nil {
		return nil, err
	}
	return &m.report, nil
}

func (m *measurement) close() {
	m.stop()
	if m.target != nil {
		m.target.kill()
	}
	m.running.Wait()
	if m.cluster != nil {
		m.cluster.close()
	}
}

// connect connects all clients, and records the connector's memory for each kind of client.
func (m *measurement) connect(ctx, starting context.Context) error {
	first, err := m.open(starting, ctx, newHost(1, m.target, 0), 0) // makes the connector load the objects before its memory is first measured
	if err != nil {
		return err
	}
	m.healthy = append(m.healthy, first)
	for _, kind := range []struct {
		name string
		n    int
		open func(h *host, i int) error
	}{
		{"reader", m.Readers - 1, func(h *host, i int) error { return m.openReader(starting, ctx, h, i+1) }},
		{"idle connection", m.Idle, func(h *host, i int) error { return m.openIdle(ctx, h, i) }},
		{"informer", m.Informers, func(h *host, i int) error { return m.openInformer(ctx, h, i) }},
	} {
		before, err := m.target.memory()
		if err != nil {
			return err
		}
		var opening errgroup.Group
		opening.SetLimit(64)
		for i := range kind.n {
			opening.Go(func() error { return kind.open(newHost(byte(2+i%100), m.target, 0), i) })
		}
		if err := opening.Wait(); err != nil {
			return fmt.Errorf("open each %s: %w", kind.name, err)
		}
		after, err := m.target.memory()
		if err != nil {
			return err
		}
		m.report.add(cost{kind.name, kind.n, after - before, after})
		if _, err := fmt.Fprintf(m.Out, "connected: %s, %d; the connector takes %s\n", kind.name, kind.n, megabytes(after)); err != nil {
			return err
		}
	}
	return nil
}

// open connects a healthy reader that subscribes to all objects, and waits until it has the
// complete state.
func (m *measurement) open(starting, ctx context.Context, h *host, i int) (*reader, error) {
	conn, first, err := h.greet(ctx, user(i), subscribe(endless))
	if err != nil {
		return nil, err
	}
	r := &reader{conn: conn, cluster: m.cluster, synced: make(chan struct{})}
	if i < sampled {
		r.latency = &m.latency
	}
	m.running.Go(func() {
		defer conn.CloseNow()
		if err := r.read(ctx, first, 0); ctx.Err() == nil {
			r.ended.Store(true)
			m.fail(fmt.Errorf("healthy reader %d ended: %w", i, err))
		}
	})
	select {
	case <-r.synced:
		return r, nil
	case <-starting.Done():
		return nil, fmt.Errorf("reader %d has not received the whole state: %w", i, errors.Join(append(m.failures(), starting.Err())...))
	}
}

func (m *measurement) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = append(m.ended, err)
}

// failures returns the reasons why connections of healthy readers have ended since
// the last call.
func (m *measurement) failures() []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	ended := m.ended
	m.ended = nil
	return ended
}

// openReader opens the i-th reader, whose kind depends on its number. Of a hundred
// readers, ten are slow and one never reads.
func (m *measurement) openReader(starting, ctx context.Context, h *host, i int) error {
	switch {
	case i%100 == 99:
		return m.hold(ctx, h, i, subscribe(endless), func(context.Context, *reader, []byte) {})
	case i%10 == 8:
		return m.hold(ctx, h, i, subscribe(64<<10), func(ctx context.Context, r *reader, first []byte) {
			_ = r.read(ctx, first, time.Second) // a slow reader may be disconnected
		})
	}
	r, err := m.open(starting, ctx, h, i)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.healthy = append(m.healthy, r)
	return nil
}

func (m *measurement) openIdle(ctx context.Context, h *host, i int) error {
	return m.hold(ctx, h, i, nil, func(ctx context.Context, r *reader, first []byte) {
		_ = r.read(ctx, first, 0) // reading also answers pings; ends with the measurement
	})
}

// hold opens a connection and sends the frames. In a new goroutine, it calls use and keeps
// the connection open until ctx is done.
func (m *measurement) hold(ctx context.Context, h *host, i int, frames []byte, use func(context.Context, *reader, []byte)) error {
	conn, first, err := h.greet(ctx, user(i), frames)
	if err != nil {
		return err
	}
	m.running.Go(func() {
		defer conn.CloseNow()
		use(ctx, &reader{conn: conn, cluster: m.cluster, synced: make(chan struct{})}, first)
		<-ctx.Done()
	})
	return nil
}

func (m *measurement) openInformer(ctx context.Context, h *host, i int) error {
	informer, err := h.inform(ctx, user(i))
	if err != nil {
		return err
	}
	m.running.Go(func() { _ = informer.read() }) // the method complete detects an informer that has ended early
	for informer.changes.Load() < int64(m.Objects) {
		if !sleep(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.informers = append(m.informers, informer)
	return nil
}

// abuse runs each kind of abuse while objects change.
func (m *measurement) abuse(ctx context.Context) error {
	for i, a := range m.selected() {
		changing, stop := context.WithCancel(ctx)
		changed := make(chan error, 1)
		go func() { changed <- m.cluster.change(changing, m.Rate) }()
		alone, beside, err := m.compare(ctx, a, 200+i)
		stop()
		if err = errors.Join(err, <-changed, m.target.running()); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if err := m.complete(ctx); err != nil {
			return fmt.Errorf("after %s: %w", a.name, err)
		}
		beside.ended = m.failures()
		m.report.abused(a, alone, beside)
		if _, err := fmt.Fprintf(m.Out, "%s: %d attempts, refused: %s; healthy readers that ended: %v\n",
			a.name, a.attempts.Load(), reasons(beside.refused), beside.ended); err != nil {
			return err
		}
	}
	return nil
}

// compare alternately measures without an abuse and during the abuse. In a short window,
// a single slow change determines the 99th percentile. The connector's memory also
// changes during a run. Several rounds reduce both effects.
func (m *measurement) compare(ctx context.Context, a *abuse, address int) (alone, beside sample, err error) {
	rounds := m.Rounds
	if m.Window == 0 || len(a.refusals) == 0 {
		rounds = 1 // such a measurement has no fixed duration
	}
	for range rounds {
		s, err := m.window(ctx, nil)
		if err != nil {
			return alone, beside, err
		}
		alone.add(s)
		if s, err = m.beside(ctx, a, address); err != nil {
			return alone, beside, err
		}
		beside.add(s)
	}
	return alone, beside, nil
}

// window measures for the configured duration. Without a configured duration, or
// during legitimate load, it measures until objects have changed. If a is not nil, it also
// waits until a.seen reports that the abuse was refused, or that all legitimate clients
// have made their attempt.
func (m *measurement) window(ctx context.Context, a *abuse) (sample, error) {
	if m.Window > 0 && (a == nil || len(a.refusals) > 0) {
		ctx, cancel := context.WithTimeout(ctx, m.Window)
		defer cancel()
		return m.measure(ctx, func(map[string]int) bool { return false })
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	written := m.cluster.written.Load()
	s, err := m.measure(ctx, func(refused map[string]int) bool {
		return m.cluster.written.Load() > written && (a == nil || a.seen(refused))
	})
	return s, errors.Join(err, ctx.Err())
}

// beside starts an abuse, measures during the abuse, and then stops it.
func (m *measurement) beside(ctx context.Context, a *abuse, address int) (sample, error) {
	f, err := startFlood(a, address, m.target)
	if err != nil {
		return sample{}, err
	}
	s, err := m.window(ctx, a)
	return s, errors.Join(err, f.stop())
}

// complete waits until every connected healthy reader has received every change
// exactly once.
func (m *measurement) complete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	written, last := m.cluster.written.Load(), m.cluster.last.Load()
	for i, r := range m.healthy {
		for r.rv.Load() < last && !r.ended.Load() {
			if !sleep(ctx, 20*time.Millisecond) {
				return fmt.Errorf("healthy reader %d is at version %d, expected %d", i, r.rv.Load(), last)
			}
		}
		if got := r.changes.Load(); got != written && !r.ended.Load() {
			return fmt.Errorf("healthy reader %d received %d changes, expected %d", i, got, written)
		}
	}
	for i, f := range m.informers {
		for f.changes.Load() < int64(m.Objects)+written {
			if !sleep(ctx, 20*time.Millisecond) {
				return fmt.Errorf("informer %d received %d events, expected at least %d", i, f.changes.Load(), int64(m.Objects)+written)
			}
		}
	}
	return nil
}
