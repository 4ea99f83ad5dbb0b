package kube

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/kubewatch"
	"github.com/watchglass/watchglass/host/source"
)

// maxBatch is the number of pending changes at which a stream passes them to the sink. A
// call to the sink may contain more changes, because a revision is never split.
const maxBatch = 100

// maxReusedValues is the capacity, in bytes, of the largest buffer of values that a
// stream reuses.
const maxReusedValues = 1 << 20

// memory is the state of a resource that outlives its streams.
type memory struct {
	kubewatch.Memory
	cluster string
	// newest is the last delivered version. Later lists must not be older than this
	// version.
	newest api.ResourceVersion
}

func (s *Source) remember(resource api.Resource, cluster string) (*memory, kubewatch.Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.memory[resource]
	if m == nil || m.cluster != cluster {
		m = &memory{cluster: cluster, Memory: kubewatch.Memory{Pages: s.config.PagedLists}}
		s.memory[resource] = m
	}
	return m, m.Memory
}

func (st *stream) newestDelivered() api.ResourceVersion {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.memory.newest
}

// advance stores rv, the newest delivered version, and what the client has learned about
// the server. Later streams of the resource use this state.
func (st *stream) advance(rv api.ResourceVersion) {
	learned := st.client.Memory()
	st.mu.Lock()
	m := st.memory
	fallback := learned.Pages && !m.Pages
	m.newest = max(m.newest, rv)
	m.Pages = m.Pages || learned.Pages
	m.FailingSince = learned.FailingSince
	st.mu.Unlock()
	if fallback {
		st.config.Logger.Info("the server does not support watches with initial events; listing instead", "resource", st.resource.String())
	}
}

// note returns err, and records it if it is the first error of the stream. Stream returns
// the recorded error unchanged.
func (st *stream) note(err error) error {
	if st.err == nil {
		st.err = err
	}
	return err
}

// Describe implements kubewatch.Handler. It accepts any schema, because readers receive
// the schema from Source.Schema.
func (st *stream) Describe(*api.Schema, string) bool { return true }

// BeginList implements kubewatch.Handler.
func (st *stream) BeginList() error {
	st.advance(0)
	return st.note(st.sink.BeginList())
}

// Object implements kubewatch.Handler.
func (st *stream) Object(o *kubewatch.Object) error {
	return st.note(st.sink.Object(key(o), o.ResourceVersion, o.Typed(o.Raw)))
}

// key returns a copy of the key of o, which the sink may retain.
func key(o *kubewatch.Object) api.Key { return api.Key(strings.Clone(string(o.Key))) }

// EndList implements kubewatch.Handler.
func (st *stream) EndList(rv api.ResourceVersion) error {
	if err := st.note(st.sink.EndList(rv)); err != nil {
		return err
	}
	st.advance(rv)
	return nil
}

// Change implements kubewatch.Handler. It only queues the change. Progress and Ended pass
// the queued changes to the sink in batches.
func (st *stream) Change(o *kubewatch.Object, deleted bool) error {
	change := source.Change{Key: key(o), ResourceVersion: o.ResourceVersion}
	if !deleted {
		start := len(st.values)
		st.values = append(st.values, o.Typed(o.Raw)...)
		change.Value = st.values[start:len(st.values):len(st.values)]
	}
	st.changes = append(st.changes, change)
	return nil
}

// Progress implements kubewatch.Handler.
func (st *stream) Progress(p kubewatch.Progress) error {
	st.at = p
	if p.Changed {
		if len(st.changes) < maxBatch {
			return nil
		}
		return st.flush()
	}
	if err := st.flush(); err != nil || !p.Current() {
		return err
	}
	return st.current()
}

func (st *stream) current() error {
	st.advance(st.at.At)
	return st.note(st.sink.Progress(st.at.At))
}

// flush passes the queued changes to the sink. Once per watch, it also reports progress, as
// soon as a change is newer than st.at.Newest. The client determines that version after it
// has requested the watch. Without this report, readers would wait for a bookmark.
func (st *stream) flush() error {
	if len(st.changes) == 0 || st.err != nil {
		return st.err
	}
	err := st.sink.Changes(st.changes)
	clear(st.changes)
	if st.changes, st.values = st.changes[:0], st.values[:0]; cap(st.values) > maxReusedValues {
		st.values = nil
	}
	if err != nil {
		return st.note(err)
	}
	st.advance(st.at.At)
	if !st.passed && st.at.Current() && st.at.At > st.at.Newest {
		st.passed = true
		return st.current()
	}
	return nil
}

// Lagging implements kubewatch.Handler.
func (st *stream) Lagging(why *api.Status) {
	st.config.Logger.Warn("the server does not confirm that it is current; if this continues, readers report stale data",
		"resource", st.resource.String(), "error", why)
}

// Skipped implements kubewatch.Handler.
func (st *stream) Skipped(what string) {
	st.config.Logger.Warn("ignoring an event", "resource", st.resource.String(), "event", what)
}

// Ended implements kubewatch.Handler. It passes the queued changes to the sink before the
// stream ends.
func (st *stream) Ended(why *api.Status) {
	if st.flush() != nil {
		return
	}
	st.advance(0)
	st.err = why
}
