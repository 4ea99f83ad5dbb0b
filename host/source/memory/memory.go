package memory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/source"
)

// batch limits the number of changes per call to Sink.Changes. A call exceeds the limit
// only to complete its last revision, because a revision is never split.
const batch = 1000

// Source is an in-memory source that also implements source.Writer. It is safe for
// concurrent use.
type Source struct {
	schemas []api.Schema
	name    string // ID that Sink.Identify receives

	mu        sync.Mutex
	revision  api.ResourceVersion
	compacted api.ResourceVersion // revisions below this one are compacted
	objects   map[api.Resource]map[api.Key]object
	log       map[api.Resource][]source.Change // ascending by revision, from compacted on
	progress  int                              // number of calls of Progress
	failures  int                              // number of calls of Fail
	failure   error                            // error of the last Fail
	wake      chan struct{}                    // closed and replaced by signal
}

type object struct {
	revision api.ResourceVersion
	value    []byte
}

var (
	_ source.Source     = (*Source)(nil)
	_ source.Identifier = (*Source)(nil)
	_ source.Writer     = (*Source)(nil)
)

// New returns an empty source at revision 1 that serves the given resources. Without
// arguments, it serves all resources of the catalog.
func New(schemas ...api.Schema) *Source {
	if len(schemas) == 0 {
		schemas = catalog.All()
	}
	return &Source{
		schemas:  schemas,
		name:     "memory-" + strconv.FormatUint(rand.Uint64(), 16),
		revision: 1,
		objects:  map[api.Resource]map[api.Key]object{},
		log:      map[api.Resource][]source.Change{},
		wake:     make(chan struct{}),
	}
}

// Schema implements source.Source.
func (s *Source) Schema(_ context.Context, resource api.Resource) (*api.Schema, error) {
	return catalog.Lookup(s.schemas, resource)
}

// Resources implements source.Source.
func (s *Source) Resources(context.Context) ([]api.Resource, error) {
	return catalog.Names(s.schemas), nil
}

// ClusterID implements source.Identifier.
func (s *Source) ClusterID(context.Context) (string, error) { return s.name, nil }

// Put writes one object and returns the revision. It panics if the source does not
// serve the resource, which is a mistake in the test.
func (s *Source) Put(resource api.Resource, key api.Key, value []byte) api.ResourceVersion {
	return s.must(source.Write{Resource: resource, Key: key, Value: value})
}

// Delete removes one object and returns the revision.
func (s *Source) Delete(resource api.Resource, key api.Key) api.ResourceVersion {
	return s.must(source.Write{Resource: resource, Key: key})
}

func (s *Source) must(w source.Write) api.ResourceVersion {
	rv, err := s.Txn(context.Background(), w)
	if err != nil {
		panic(err)
	}
	return rv
}

// Txn implements source.Writer.
func (s *Source) Txn(_ context.Context, writes ...source.Write) (api.ResourceVersion, error) {
	if err := s.check(writes); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next, changed := s.revision+1, false
	for _, w := range writes {
		changed = s.apply(next, w) || changed
	}
	if changed {
		s.revision = next
		s.signal()
	}
	return s.revision, nil
}

func (s *Source) check(writes []source.Write) error {
	type name struct {
		resource api.Resource
		key      api.Key
	}
	seen := map[name]bool{}
	for _, w := range writes {
		if _, err := catalog.Lookup(s.schemas, w.Resource); err != nil {
			return err
		}
		n := name{w.Resource, w.Key}
		if seen[n] {
			return api.Invalid(fmt.Sprintf("transaction writes %s %s twice", w.Resource, w.Key))
		}
		seen[n] = true
	}
	return nil
}

// apply performs a write at revision rv, and reports whether it changed anything. The
// caller holds mu.
func (s *Source) apply(rv api.ResourceVersion, w source.Write) bool {
	objects := s.objects[w.Resource]
	if w.Value == nil {
		if _, ok := objects[w.Key]; !ok {
			return false
		}
		delete(objects, w.Key)
	} else {
		if objects == nil {
			objects = map[api.Key]object{}
			s.objects[w.Resource] = objects
		}
		objects[w.Key] = object{rv, w.Value}
	}
	s.log[w.Resource] = append(s.log[w.Resource], source.Change{Key: w.Key, ResourceVersion: rv, Value: w.Value})
	return true
}

// Revision returns the newest revision.
func (s *Source) Revision() api.ResourceVersion {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Compact discards the revisions below rv, as etcd does. Streams that still need a
// discarded revision end with 410.
func (s *Source) Compact(rv api.ResourceVersion) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv > s.revision {
		return api.TooLargeResourceVersion(rv, s.revision)
	}
	if rv <= s.compacted {
		return nil
	}
	s.compacted = rv
	for resource, log := range s.log {
		s.log[resource] = slices.Clone(log[after(log, rv-1):])
	}
	s.signal()
	return nil
}

// Fail ends every running stream with err. It does not affect streams that start later.
func (s *Source) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	s.failure = err
	s.signal()
}

// Progress makes every running stream report the newest revision after the stream has
// delivered all changes up to that revision.
func (s *Source) Progress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress++
	s.signal()
}

func (s *Source) signal() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// after returns the index of the first change in log that is later than rv.
func after(log []source.Change, rv api.ResourceVersion) int {
	i, _ := slices.BinarySearchFunc(log, rv, func(c source.Change, rv api.ResourceVersion) int {
		if c.ResourceVersion <= rv {
			return -1
		}
		return 1
	})
	return i
}

// snapshot returns the state of one resource in key order, and the revision of that
// state.
func (s *Source) snapshot(resource api.Resource) ([]source.Change, api.ResourceVersion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	objects := make([]source.Change, 0, len(s.objects[resource]))
	for key, o := range s.objects[resource] {
		objects = append(objects, source.Change{Key: key, ResourceVersion: o.revision, Value: o.value})
	}
	slices.SortFunc(objects, func(a, b source.Change) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return objects, s.revision
}
