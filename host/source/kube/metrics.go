package kube

import (
	"bytes"
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/source"
)

const (
	// DefaultMetricsInterval is the resolution that metrics-server's standard manifests
	// configure.
	DefaultMetricsInterval = 15 * time.Second
	// MinMetricsInterval and MaxMetricsInterval limit Config.MetricsInterval.
	MinMetricsInterval = 5 * time.Second
	MaxMetricsInterval = 5 * time.Minute

	// metricsProgress is the time between two reports of progress. It is shorter than
	// the ten seconds that source.Sink requires.
	metricsProgress = 5 * time.Second
	// maxMetricsBytes is the maximum size of one response. It suffices for 200,000 pods.
	maxMetricsBytes = 256 << 20
)

// metricsSchemas are the schemas of the resources that are polled.
var metricsSchemas = catalog.Metrics()

// metricsSchema returns the schema of a resource that is polled, or nil.
func metricsSchema(name api.Resource) *api.Schema {
	for i := range metricsSchemas {
		if metricsSchemas[i].Resource == name {
			return &metricsSchemas[i]
		}
	}
	return nil
}

// poller streams a resource that has neither versions nor watches, by listing it
// repeatedly.
//
// The poller assigns the resource versions. The versions start from the current time in
// microseconds and increase with every changed object, so that they exceed those of an
// earlier process. Versions of different processes are nevertheless not comparable. Each
// process therefore has its own cluster ID.
type poller struct {
	*Source
	schema *api.Schema
	sink   source.Sink
	head   string                // kind and apiVersion, which the items of a list may lack
	seed   maphash.Seed          // of the hashes in known
	known  map[api.Key]uint64    // hash of the last delivered value of each object
	newest api.ResourceVersion   // the last assigned version
	items  map[api.Key]polledRaw // of the current response
}

type polledRaw struct {
	value []byte
	hash  uint64
}

// newMetricsIdentity returns a suffix for cluster IDs, which is unique to this process.
func newMetricsIdentity() string { return " metrics " + crand.Text() }

// poll lists a resource once per interval until ctx is done or a list fails. A connector
// streams the resource only while readers use it, so an unused resource is not polled.
func (s *Source) poll(ctx context.Context, schema *api.Schema, cluster string, from api.ResourceVersion, sink source.Sink) error {
	if err := sink.Identify(cluster + s.metricsIdentity); err != nil {
		return err
	}
	if from != 0 {
		return api.Expired("metrics have no history: list " + schema.Resource.String() + " again")
	}
	p := &poller{
		Source: s, schema: schema, sink: sink, seed: maphash.MakeSeed(), known: map[api.Key]uint64{},
		head: `{"kind":"` + schema.Kind + `","apiVersion":"` + schema.Resource.APIVersion() + `",`,
	}
	if err := p.list(ctx); err != nil {
		return err
	}
	for {
		if err := p.wait(ctx, s.pollPause()); err != nil {
			return err
		}
		if err := p.update(ctx); err != nil {
			return err
		}
	}
}

// pollPause returns the time until the next poll. The time varies by up to 10 percent, so
// that connectors that start together do not keep polling together.
func (s *Source) pollPause() time.Duration {
	interval := s.config.MetricsInterval
	return interval - interval/10 + rand.N(interval/5)
}

// wait reports progress periodically, and whenever a reader requests it, until the pause
// has ended. The newest assigned version is always current, because only a poll assigns
// versions. Requests for progress cause no polls, so readers cannot raise the load of the
// server.
func (p *poller) wait(ctx context.Context, pause time.Duration) error {
	next := time.NewTimer(pause)
	defer next.Stop()
	progress := time.NewTicker(metricsProgress)
	defer progress.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
			return nil
		case <-progress.C:
		case <-p.sink.Wanted():
		}
		if err := p.sink.Progress(p.newest); err != nil {
			return err
		}
	}
}

// list requests the first response and delivers it as a list.
func (p *poller) list(ctx context.Context) error {
	if err := p.request(ctx); err != nil {
		return err
	}
	if err := p.sink.BeginList(); err != nil {
		return err
	}
	p.begin()
	for _, key := range sortedKeys(p.items) {
		item := p.items[key]
		p.known[key] = item.hash
		p.newest++
		if err := p.sink.Object(key, p.newest, item.value); err != nil {
			return err
		}
	}
	return p.sink.EndList(p.newest)
}

// update requests the next response and delivers its differences from the previous one.
// Every change gets its own version, because changes with the same version could not be
// split into batches.
func (p *poller) update(ctx context.Context) error {
	if err := p.request(ctx); err != nil {
		return err
	}
	p.begin()
	var changes []source.Change
	change := func(key api.Key, value []byte) error {
		p.newest++
		changes = append(changes, source.Change{Key: key, ResourceVersion: p.newest, Value: value})
		if len(changes) < maxBatch {
			return nil
		}
		err := p.sink.Changes(changes)
		changes = changes[:0]
		return err
	}
	for _, key := range sortedKeys(p.known) {
		if _, exists := p.items[key]; exists {
			continue
		}
		delete(p.known, key)
		if err := change(key, nil); err != nil {
			return err
		}
	}
	for _, key := range sortedKeys(p.items) {
		item := p.items[key]
		if hash, exists := p.known[key]; exists && hash == item.hash {
			continue
		}
		p.known[key] = item.hash
		if err := change(key, item.value); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		if err := p.sink.Changes(changes); err != nil {
			return err
		}
	}
	return p.sink.Progress(p.newest)
}

// begin advances p.newest by at least one, and at least to the current time in
// microseconds.
func (p *poller) begin() {
	p.newest = max(p.newest+1, api.ResourceVersion(time.Now().UnixMicro()))
}

func sortedKeys[V any](m map[api.Key]V) []api.Key {
	keys := make([]api.Key, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare)
	return keys
}

// request lists the resource and stores the response in p.items.
func (p *poller) request(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.config.RequestTimeout, fmt.Errorf("no response within %v", p.config.RequestTimeout))
	defer cancel()
	path := "/apis/" + p.schema.Resource.String()
	about := "kube-apiserver " + p.base.Host + ": GET " + path
	resp, err := p.get(ctx, path, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", about, transportError(ctx, err))
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(about, resp)
	}
	defer resp.Body.Close()
	body := &io.LimitedReader{R: resp.Body, N: maxMetricsBytes}
	var list struct{ Items []json.RawMessage }
	switch err := json.NewDecoder(body).Decode(&list); {
	case err != nil && body.N == 0:
		return fmt.Errorf("%s: the response exceeds %d MiB", about, maxMetricsBytes>>20)
	case err != nil:
		return fmt.Errorf("%s: the response is not the expected JSON: %w", about, transportError(ctx, err))
	}
	p.items = make(map[api.Key]polledRaw, len(list.Items))
	for _, raw := range list.Items {
		if err := p.add(raw); err != nil {
			p.config.Logger.Warn("ignoring metrics", "resource", p.schema.Resource.String(), "error", err)
		}
	}
	return nil
}

// add stores an item of the response in p.items. If the item has no kind, add inserts
// kind and apiVersion.
func (p *poller) add(raw json.RawMessage) error {
	var item struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
	}
	switch err := json.Unmarshal(raw, &item); {
	case err != nil:
		return err
	case item.Metadata.Name == "" || p.schema.Namespaced != (item.Metadata.Namespace != ""):
		return errors.New("an item has no name, or an unexpected namespace")
	case item.Kind == "":
		raw = append([]byte(p.head), bytes.TrimLeft(raw, "{ \t\r\n")...)
	}
	p.items[api.NewKey(item.Metadata.Namespace, item.Metadata.Name)] = polledRaw{raw, maphash.Bytes(p.seed, raw)}
	return nil
}
