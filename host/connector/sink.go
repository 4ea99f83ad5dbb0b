package connector

import (
	"bytes"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/host/source"
)

// sink passes the output of the source to the cacher of one collection. The goroutine of
// the upstream watch owns the sink.
type sink struct {
	col *collection
	*decoder
	at api.ResourceVersion // every change up to this version is applied; zero means a list is needed

	clusterID string // cluster ID as the source reports it
	served    string // cluster ID that readers receive, with a suffix if the source went back in time
	newest    api.ResourceVersion
	listed    bool

	// diverged counts the objects of the current list that differ from the cache.
	diverged uint64
}

var _ source.Sink = (*sink)(nil)

// Identify implements source.Sink. If the ID changes after a list, Identify returns a 410,
// which ends the stream: the sink cannot resume from revisions of another cluster.
func (s *sink) Identify(clusterID string) error {
	was := s.clusterID
	if clusterID == was {
		return nil
	}
	s.clusterID, s.served, s.newest = clusterID, clusterID, 0
	if s.at != 0 {
		return api.Expired("the source has changed from " + was + " to " + clusterID + ": its revisions are not comparable")
	}
	return nil
}

// BeginList implements source.Sink.
func (s *sink) BeginList() error {
	s.diverged = 0
	s.col.update(func(int64) {
		s.col.totals.Lists++
		s.col.cacher.Listing().Begin()
	})
	return nil
}

// Object implements source.Sink. It stores bodies without deltas, because a reader that
// receives a snapshot would also need the base of a delta.
func (s *sink) Object(key api.Key, rv api.ResourceVersion, value []byte) error {
	put, fault := s.decode(key, rv, value, &base{})
	s.col.update(func(now int64) {
		s.count(len(value))
		if fault != nil {
			s.fault(key, rv, fault, now)
			return
		}
		if s.diverges(key, rv) {
			s.diverged++
		}
		if status := s.col.cacher.Listing().Object(put); status != nil {
			s.fault(key, rv, status, now)
		}
	})
	return nil
}

// diverges reports whether the cache lacks a listed version that is not newer than s.newest,
// although the sink has applied every change up to s.newest. The caller holds the lock.
func (s *sink) diverges(key api.Key, rv api.ResourceVersion) bool {
	if rv > s.newest {
		return false
	}
	ref := s.col.cacher.State().Get(key)
	return ref == 0 || s.col.cacher.Arena().ResourceVersion(ref) != rv
}

// EndList implements source.Sink.
func (s *sink) EndList(rv api.ResourceVersion) error {
	if rv < s.newest {
		// Readers receive a new cluster ID if the source has gone back in time. An example
		// is a source that was restored from a backup and kept its cluster ID.
		s.served = s.clusterID + " restored at " + rv.String()
		s.diverged = 0
	}
	s.col.change(func(now int64) {
		if s.col.totals.Diverged += s.diverged; s.diverged > 0 {
			s.col.connector.config.Logger.Error("the cache differed from a list of the source, which has replaced it",
				"resource", s.col.resource.String(), "objects", s.diverged, "resourceVersion", s.newest.String())
		}
		s.col.recovered()
		s.col.cacher.Upstream().SetClusterID(s.served)
		s.col.cacher.Listing().End(rv, now)
		if !s.listed {
			close(s.col.ready)
			s.listed = true
			s.col.connector.config.Timings.InitialSync(s.col.resource, time.Since(s.col.opened))
		}
	})
	s.at, s.newest = rv, rv
	return nil
}

// Changes implements source.Sink. The sink decodes each revision before it acquires the
// lock, and applies the revision atomically.
func (s *sink) Changes(changes []source.Change) error {
	received := time.Now()
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].ResourceVersion == changes[0].ResourceVersion {
			n++
		}
		s.apply(changes[:n])
		changes = changes[n:]
	}
	s.col.change(func(int64) {
		s.col.recovered()
		s.col.connector.received = received
	})
	return nil
}

// decoded is a change that is ready to be applied.
type decoded struct {
	put   *cacher.Update // nil for a deletion
	fault *api.Status
}

func (s *sink) apply(revision []source.Change) {
	ready, bases := make([]decoded, len(revision)), s.bases(revision)
	for i, c := range revision {
		if c.Value == nil {
			continue
		}
		put, fault := s.decode(c.Key, c.ResourceVersion, c.Value, &bases[i])
		if fault == nil && len(revision) > 1 {
			put = own(put)
		}
		ready[i] = decoded{put, fault}
	}
	s.col.update(func(now int64) {
		for i, c := range revision {
			s.count(len(c.Value))
			switch r := ready[i]; {
			case r.fault != nil:
				s.fault(c.Key, c.ResourceVersion, r.fault, now)
			case r.put == nil:
				s.col.cacher.Delete(c.Key, c.ResourceVersion, now)
			default:
				if status := s.col.cacher.Apply(r.put, now); status != nil {
					s.fault(c.Key, c.ResourceVersion, status, now)
				}
			}
		}
	})
	s.at = revision[0].ResourceVersion
	s.newest = s.at
}

// bases returns a base for each change in a revision, or zero if there is none. The bases
// stay valid until the revision is applied, because only this goroutine changes the
// collection.
func (s *sink) bases(revision []source.Change) []base {
	bases := make([]base, len(revision))
	s.col.update(func(int64) {
		arena := s.col.cacher.Arena()
		for i, c := range revision {
			if ref := s.col.cacher.Bodies().BaseFor(s.col.cacher.State().Get(c.Key)); ref != 0 && c.Value != nil {
				arena.TakeOut(ref) // moves the body out of its block, because later versions of the object need it too
				body := arena.Body(ref)
				bases[i] = base{arena.ResourceVersion(ref), api.Body{Codec: body.Codec, Data: bytes.Clone(body.Data)}}
			}
		}
	})
	return bases
}

// Progress implements source.Sink.
func (s *sink) Progress(rv api.ResourceVersion) error {
	s.col.change(func(now int64) {
		s.col.recovered()
		s.col.cacher.Progress(rv, now)
	})
	s.at = max(s.at, rv)
	s.newest = s.at
	return nil
}

// Wanted implements source.Sink.
func (s *sink) Wanted() <-chan struct{} { return s.col.wanted }

// fault counts, logs and stores a fault. The caller holds the lock.
func (s *sink) fault(key api.Key, rv api.ResourceVersion, status *api.Status, now int64) {
	s.col.totals.Faults++
	s.col.connector.config.Logger.Warn("object cannot be served; readers keep its last good version", "error", status.Message)
	s.col.cacher.Fault(key, rv, status, now)
}

// count counts an event with a value of the given size. The caller holds the lock.
func (s *sink) count(bytes int) {
	s.col.totals.Events++
	s.col.totals.BytesIn += uint64(bytes)
}
