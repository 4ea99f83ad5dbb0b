//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/time/rate"

	"github.com/watchglass/watchglass/core/api"
)

const (
	namespaces = 5
	workers    = 4
)

var tiers = []string{"web", "db", "cache"}

// writers is a set of workers that change objects at a limited rate until close is called.
// The workers start paused.
type writers struct {
	client  *clientv3.Client
	limit   *rate.Limiter
	gate    sync.RWMutex // read-locked during a write, and locked during a pause
	written atomic.Int64 // number of committed transactions
	stop    context.CancelFunc
	running sync.WaitGroup
	markers int
	paused  bool
}

// worker is one of several concurrent writers. Each worker changes a fixed subset of the
// objects, so that no two workers write the same object.
type worker struct {
	*writers
	random *rand.Rand
	first  int
	live   map[int]bool
	born   map[int]int // how often each object was created
	total  int
}

// populate writes every object once and starts the workers, which are paused.
func populate(ctx context.Context, client *clientv3.Client, seed uint64, objects int, perSecond float64) (*writers, error) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &writers{client: client, limit: rate.NewLimiter(rate.Limit(perSecond), workers), stop: stop}
	w.pause()
	for i := range workers {
		k := &worker{
			writers: w, random: rand.New(rand.NewPCG(seed, uint64(i))), first: i, total: objects,
			live: map[int]bool{}, born: map[int]int{},
		}
		for n := i; n < objects; n += workers {
			k.live[n] = true
			if err := k.commit(ctx, k.put(n)); err != nil {
				stop()
				return nil, err
			}
		}
		w.running.Go(func() { k.run(run) })
	}
	return w, nil
}

func (w *writers) close() {
	w.stop()
	w.resume()
	w.running.Wait()
}

// pause stops the writers, and returns when no write is in progress.
func (w *writers) pause() {
	if !w.paused {
		w.paused = true
		w.gate.Lock()
	}
}

func (w *writers) resume() {
	if w.paused {
		w.paused = false
		w.gate.Unlock()
	}
}

// progress waits until the writers have committed n further transactions.
func (w *writers) progress(ctx context.Context, n int64) error {
	for target := w.written.Load() + n; w.written.Load() < target; {
		if !pause(ctx, 10*time.Millisecond) {
			return fmt.Errorf("writers committed %d transactions, expected %d: %w", w.written.Load(), target, ctx.Err())
		}
	}
	return nil
}

// mark writes marker objects, at least one in the scope of every reader, and returns their
// revision.
func (w *writers) mark(ctx context.Context) (api.ResourceVersion, error) {
	w.markers++
	var ops []clientv3.Op
	for _, tier := range []string{"web", "db"} {
		ops = append(ops, clientv3.OpPut(prefix+"chaos-1/marker-"+tier, render("chaos-1", "marker-"+tier, "marker-"+tier, tier, fmt.Sprint(w.markers))))
	}
	for {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		r, err := w.client.Txn(attempt).Then(ops...).Commit()
		cancel()
		if err == nil {
			return api.ResourceVersion(r.Header.Revision), nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return 0, fmt.Errorf("etcd does not accept writes: %w", err)
		}
	}
}

func (k *worker) run(ctx context.Context) {
	for k.limit.Wait(ctx) == nil {
		ops := k.plan()
		// A write that returned an error may have been committed. Retry it until it
		// succeeds.
		for ctx.Err() == nil && k.attempt(ctx, ops) != nil {
			pause(ctx, 20*time.Millisecond)
		}
	}
}

func (k *worker) attempt(ctx context.Context, ops []clientv3.Op) error {
	k.gate.RLock()
	defer k.gate.RUnlock()
	return k.commit(ctx, ops...)
}

func (k *worker) commit(ctx context.Context, ops ...clientv3.Op) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := k.client.Txn(ctx).Then(ops...).Commit(); err != nil {
		return fmt.Errorf("write to etcd: %w", err)
	}
	k.written.Add(1)
	return nil
}

// plan generates the next transaction, with one change or occasionally several.
func (k *worker) plan() (ops []clientv3.Op) {
	changes := 1
	if k.random.IntN(6) == 0 {
		changes = 2 + k.random.IntN(7)
	}
	seen := map[int]bool{}
	for range changes {
		n := k.first + workers*k.random.IntN(k.total/workers)
		if seen[n] {
			continue
		}
		seen[n] = true
		if k.live[n] && k.random.IntN(12) == 0 {
			k.live[n] = false
			ops = append(ops, clientv3.OpDelete(key(n)))
			continue
		}
		if !k.live[n] {
			k.live[n] = true
			k.born[n]++
		}
		ops = append(ops, k.put(n))
	}
	return ops
}

const letters = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789"

func (k *worker) put(n int) clientv3.Op {
	var text strings.Builder
	for range 50 + k.random.IntN(40)*k.random.IntN(40) {
		text.WriteByte(letters[k.random.IntN(len(letters))])
	}
	tier := tiers[n%len(tiers)]
	if k.random.IntN(10) == 0 { // so that objects start and stop matching selectors
		tier = tiers[k.random.IntN(len(tiers))]
	}
	namespace, name := names(n)
	return clientv3.OpPut(key(n), render(namespace, name, fmt.Sprintf("uid-%d-%d", n, k.born[n]), tier, text.String()))
}

func names(n int) (namespace, name string) {
	return fmt.Sprintf("chaos-%d", n/workers%namespaces), fmt.Sprintf("object-%05d", n)
}

func key(n int) string {
	namespace, name := names(n)
	return prefix + namespace + "/" + name
}

func render(namespace, name, uid, tier, text string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q,"uid":%q,"labels":{"tier":%q}},"data":{"text":%q}}`,
		name, namespace, uid, tier, text)
}
