package clustersim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

const (
	// batchWrites is etcd's default limit of writes per transaction. With objects of 5
	// kB, a batch stays well below etcd's request limit of 1.5 MB.
	batchWrites = 128
	// populateWorkers is the number of concurrent writers.
	populateWorkers = 4
	// tick is the interval at which Run checks whether changes are due.
	tick = 20 * time.Millisecond
	// maxEvents is the maximum number of Event objects. A further Event replaces the oldest
	// one.
	maxEvents = 1000
)

// Cluster is a simulated cluster. It is not safe for concurrent use.
type Cluster struct {
	config Config
	writer source.Writer
	rand   *rand.Rand

	nodes      []*node
	namespaces []*namespace
	workloads  []*workload
	configMaps []*configMap
	pods       [terminating + 1]pool // by state
	draining   *node                 // the node that is being drained, or nil
	rollouts   []*workload           // running rollouts
	podNames   map[api.Key]bool      // names of all pods that exist
	addresses  int                   // number of assigned addresses
	events     []api.Key             // oldest first

	writes []source.Write // writes of the current operation
}

// New returns a cluster with a planned initial state. It writes nothing; call Populate.
func New(writer source.Writer, config Config) (*Cluster, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{config: config, writer: writer, rand: rand.New(rand.NewPCG(config.Seed, 0x77617463)), podNames: map[api.Key]bool{}}
	c.plan()
	return c, nil
}

// Pods returns the current number of pods in any state.
func (c *Cluster) Pods() int {
	n := 0
	for i := range c.pods {
		n += c.pods[i].len()
	}
	return n
}

// Populate writes the planned state, in batches and concurrently. After each batch it calls
// progress, which may be nil. The calls do not overlap.
func (c *Cluster) Populate(ctx context.Context, progress func(done, total int)) error {
	objects := c.Planned()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(populateWorkers)
	var mu sync.Mutex
	done := 0
	for start := 0; start < len(objects); start += batchWrites {
		batch := objects[start:min(start+batchWrites, len(objects))]
		group.Go(func() error {
			if err := c.populate(ctx, batch); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done += len(batch)
			if progress != nil {
				progress(done, len(objects))
			}
			return nil
		})
	}
	return group.Wait()
}

// populate renders and writes a batch. It renders each batch just before writing it, so
// that only a few batches are in memory at a time.
func (c *Cluster) populate(ctx context.Context, batch []Planned) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	writes := make([]source.Write, len(batch))
	for i, o := range batch {
		writes[i] = o.Render()
	}
	if _, err := c.writer.Txn(ctx, writes...); err != nil {
		return fmt.Errorf("populate the simulated cluster: %w", err)
	}
	return nil
}

// Planned is an object of the state that Populate writes.
type Planned struct {
	Resource api.Resource
	Key      api.Key
	// Render returns the write that creates the object. It reads the state of the
	// simulation, so Step must not run at the same time.
	Render func() source.Write
}

// Planned returns all objects that Populate writes, without rendering them. It is for
// callers that cannot hold the whole state as JSON in memory.
func (c *Cluster) Planned() []Planned {
	var all []Planned
	for _, n := range c.nodes {
		all = append(all, Planned{nodes, api.Key(n.name), n.render})
	}
	for _, n := range c.namespaces {
		all = append(all, Planned{namespaces, api.Key(n.name), n.render})
	}
	for _, m := range c.configMaps {
		all = append(all, Planned{configMaps, api.NewKey(m.namespace, m.name), m.render})
	}
	for _, w := range c.workloads {
		set := api.NewKey(w.namespace, w.current.name)
		if w.app.job {
			all = append(all, Planned{jobs, set, w.current.renderJob})
			continue
		}
		all = append(all, Planned{deployments, api.NewKey(w.namespace, w.app.name), w.render}, Planned{replicaSets, set, w.current.render})
	}
	for i := range c.pods {
		for _, p := range c.pods[i].pods {
			all = append(all, Planned{pods, p.key(), p.render})
		}
	}
	return all
}

// Run changes the cluster at about the configured rate until ctx is done or a write fails,
// and returns the reason. It does not catch up after a slow write: at most the changes of
// a tenth of a second are due at once.
func (c *Cluster) Run(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	due, last := 0.0, time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		now := time.Now()
		due = min(due+now.Sub(last).Seconds()*c.config.Rate, max(1, c.config.Rate/10))
		last = now
		for due >= 1 {
			n, err := c.Step(ctx)
			if err != nil {
				return err
			}
			due -= float64(n)
		}
	}
}

// Step performs one operation as one transaction and returns how many objects
// it wrote, at least one.
func (c *Cluster) Step(ctx context.Context) (int, error) {
	c.writes = nil
	for len(c.writes) == 0 {
		c.operate()
	}
	if _, err := c.writer.Txn(ctx, c.writes...); err != nil {
		return 0, fmt.Errorf("simulated cluster: %w", err)
	}
	return len(c.writes), nil
}

// write adds a write to the transaction of the current operation. A later write of the same
// object replaces the earlier one, because an operation may write an object twice, but a
// transaction may not.
func (c *Cluster) write(w source.Write) {
	for i := range c.writes {
		if c.writes[i].Resource == w.Resource && c.writes[i].Key == w.Key {
			c.writes[i] = w
			return
		}
	}
	c.writes = append(c.writes, w)
}
