package sourcetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

// The suite reads and writes objects of these resources. A source under test must serve
// both.
var (
	ConfigMaps = api.Resource{Version: "v1", Name: "configmaps"} // namespaced
	Nodes      = api.Resource{Version: "v1", Name: "nodes"}      // cluster-scoped
)

// Harness is a source under test with an empty store, and functions that change the
// store.
type Harness struct {
	Source source.Source
	Writer source.Writer
	// Compact makes the revisions below rv unreachable. If Compact is nil, the compaction
	// tests are skipped.
	Compact func(t *testing.T, rv api.ResourceVersion)
	// Progress makes running streams report progress. Nil means that the source reports
	// progress by itself within seconds.
	Progress func()
	// PageSize is the page size of the source. Tests of lists write several times as many
	// objects. Zero means that the source does not page.
	PageSize int
	// SingleKey means that the writer cannot change several keys in one revision.
	SingleKey bool
	// Decodes means that the store accepts only valid objects.
	Decodes bool
}

// progress calls Progress if it is set.
func (h *Harness) progress() {
	if h.Progress != nil {
		h.Progress()
	}
}

// store writes through the harness and records the writes as the expected state. It
// is safe for concurrent use on disjoint keys.
type store struct {
	t        *testing.T
	writer   source.Writer
	resource api.Resource

	mu      sync.Mutex
	written []record
}

// record is one expected change.
type record struct {
	Key     api.Key
	RV      api.ResourceVersion
	Marker  string
	Deleted bool
}

func newStore(t *testing.T, h Harness, resource api.Resource) *store {
	return &store{t: t, writer: h.Writer, resource: resource}
}

// put writes one object per key in one transaction.
func (s *store) put(marker string, keys ...api.Key) api.ResourceVersion {
	var records []record
	for _, k := range keys {
		records = append(records, record{Key: k, Marker: marker})
	}
	return s.txn(records...)
}

func (s *store) delete(key api.Key) api.ResourceVersion {
	return s.txn(record{Key: key, Deleted: true})
}

func (s *store) txn(records ...record) api.ResourceVersion {
	var writes []source.Write
	for _, r := range records {
		w := source.Write{Resource: s.resource, Key: r.Key}
		if !r.Deleted {
			w.Value = object(s.resource, r.Key, r.Marker)
		}
		writes = append(writes, w)
	}
	rv, err := s.writer.Txn(context.Background(), writes...)
	if err != nil {
		s.t.Errorf("write: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		r.RV = rv
		s.written = append(s.written, r)
	}
	return rv
}

// after returns the changes later than rv, in order.
func (s *store) after(rv api.ResourceVersion) []record {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.written, func(a, b record) int { return cmp.Compare(a.RV, b.RV) })
	var later []record
	for _, r := range s.written {
		if r.RV > rv {
			later = append(later, r)
		}
	}
	return later
}

// at returns the objects that existed at revision rv, in key order.
func (s *store) at(rv api.ResourceVersion) []record {
	state := map[api.Key]record{}
	for _, r := range s.after(0) {
		switch {
		case r.RV > rv:
		case r.Deleted:
			delete(state, r.Key)
		default:
			state[r.Key] = r
		}
	}
	return sorted(state)
}

func sorted(state map[api.Key]record) []record {
	records := make([]record, 0, len(state))
	for _, r := range state {
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b record) int { return cmp.Compare(a.Key, b.Key) })
	return records
}

// newest returns the revision of the last change.
func (s *store) newest() api.ResourceVersion {
	all := s.after(0)
	require.NotEmpty(s.t, all)
	return all[len(all)-1].RV
}

// object returns a valid object whose annotation "marker" has the given value.
func object(resource api.Resource, key api.Key, marker string) []byte {
	kind := "ConfigMap"
	if resource == Nodes {
		kind = "Node"
	}
	metadata := map[string]any{"name": key.Name(), "annotations": map[string]any{"marker": marker}}
	if ns := key.Namespace(); ns != "" {
		metadata["namespace"] = ns
	}
	value, err := json.Marshal(map[string]any{"apiVersion": resource.APIVersion(), "kind": kind, "metadata": metadata})
	if err != nil {
		panic(err)
	}
	return value
}

// marker returns the annotation "marker" of an object, or the value itself if it is not
// JSON.
func marker(value []byte) string {
	var o struct {
		Metadata struct {
			Annotations map[string]string
		}
	}
	if err := json.Unmarshal(value, &o); err != nil {
		return string(value)
	}
	return o.Metadata.Annotations["marker"]
}

// names returns n keys in the namespace, in ascending order.
func names(namespace string, n int) []api.Key {
	keys := make([]api.Key, n)
	for i := range keys {
		keys[i] = api.NewKey(namespace, fmt.Sprintf("object-%04d", i))
	}
	return keys
}
