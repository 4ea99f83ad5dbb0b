//go:build unix

package main

import (
	"context"
	"math/rand/v2"
	"syscall"
)

// fault is a kind of fault that a round can inject.
type fault struct {
	name string
	// inject starts the fault, and heal ends it.
	inject func(ctx context.Context, w *world, r *rand.Rand) (heal func(context.Context) error, err error)
	// between marks a fault that rewrites the history of etcd. The fault is injected between
	// recordings, while the writers are paused, and needs no healing.
	between bool
}

var faults = []fault{
	{name: "kill a member", inject: killMember},
	{name: "stop a member", inject: stopMember},
	{name: "kill a connector", inject: killConnector},
	{name: "stop a connector", inject: stopConnector},
	{name: "restart a connector", inject: restartConnector},
	{name: "partition connector from etcd", inject: partitionConnector},
	{name: "partition readers", inject: partitionReaders},
	{name: "latency", inject: latency},
	{name: "bandwidth", inject: bandwidth},
	{name: "resets", inject: resets},
	{name: "compaction, defragmentation", inject: compaction},
	{name: "rotate certificates", inject: rotate},
	{name: "restore a backup", inject: restore, between: true},
}

func killMember(_ context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	i := r.IntN(members)
	w.etcd.process[i].kill()
	return func(ctx context.Context) error { return w.etcd.start(ctx, i) }, nil
}

func stopMember(_ context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	i := r.IntN(members)
	w.etcd.signal(i, syscall.SIGSTOP)
	return func(context.Context) error { w.etcd.signal(i, syscall.SIGCONT); return nil }, nil
}

func killConnector(_ context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	c := w.connectors[r.IntN(connectors)]
	c.process.kill()
	return c.start, nil
}

func stopConnector(_ context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	c := w.connectors[r.IntN(connectors)]
	c.process.signal(syscall.SIGSTOP)
	return func(context.Context) error { c.process.signal(syscall.SIGCONT); return nil }, nil
}

func restartConnector(ctx context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	c := w.connectors[r.IntN(connectors)]
	return c.start, c.terminate(ctx)
}

func partitionConnector(_ context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	return healed(poison(w.connectors[r.IntN(connectors)].etcd[:], "timeout", nil))
}

func partitionReaders(_ context.Context, w *world, _ *rand.Rand) (func(context.Context) error, error) {
	return healed(poison(w.readerLinks, "timeout", nil))
}

func latency(_ context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	delay := 50 + r.IntN(250) // milliseconds
	return healed(poison(w.proxies.links, "latency", map[string]int{"latency": delay, "jitter": delay / 2}))
}

func bandwidth(_ context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	return healed(poison(w.readerLinks, "bandwidth", map[string]int{"rate": 16 + r.IntN(200)})) // kB/s
}

func resets(_ context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	return healed(poison(w.proxies.links, "reset_peer", map[string]int{"timeout": r.IntN(400)})) // milliseconds
}

func healed(cure func() error, err error) (func(context.Context) error, error) {
	return func(context.Context) error { return cure() }, err
}

// compaction makes etcd discard changes that a connector and a reader have not received.
func compaction(ctx context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	cut := append([]*link(nil), w.connectors[r.IntN(connectors)].etcd[:]...)
	cut = append(cut, w.readerLinks[r.IntN(len(w.readerLinks))])
	cure, err := poison(cut, "timeout", nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if err := w.etcd.compact(ctx, w.witness.at.Load()); err != nil {
			return err
		}
		if err := w.etcd.defragment(ctx); err != nil {
			return err
		}
		return cure()
	}, nil
}

// rotate replaces the connectors' certificate. The connectors load the new certificate on
// SIGHUP, or when they detect the changed file.
func rotate(_ context.Context, w *world, r *rand.Rand) (func(context.Context) error, error) {
	serial, err := w.authority.issue()
	if err != nil {
		return nil, err
	}
	if r.IntN(2) == 0 {
		for _, c := range w.connectors {
			c.process.signal(syscall.SIGHUP)
		}
	}
	return func(ctx context.Context) error {
		for _, c := range w.connectors {
			if err := c.serves(ctx, serial); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// restore replaces the data of all etcd members with the backup from the start of the
// round.
func restore(ctx context.Context, w *world, _ *rand.Rand) (func(context.Context) error, error) {
	return nil, w.etcd.restoreBackup(ctx, w.backup())
}
