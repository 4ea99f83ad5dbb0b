package connector

import (
	"bytes"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/envelope"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/wasm/bodies"
)

// A dictionary is trained from the first objects of a resource's first list.
// A list is in the order of keys, so the samples are of few namespaces at first:
// with 512 of them 50,000 pods take a hundredth less than with 64, and with 800
// no less. Few objects are not worth the dictionary that every reader would have
// to load.
const (
	maxSamples     = 512
	maxSampleBytes = 4 << 20
	minSamples     = 8
)

// sink feeds one collection's cacher. It belongs to the goroutine of the
// upstream watch.
type sink struct {
	col *collection
	decoder
	at api.ResourceVersion // every change up to it is applied; zero: list first

	source  string // as it identified itself
	history string // the name of what is served: the source, until it goes back
	newest  api.ResourceVersion
	trained bool
	listed  bool
	samples []source.Change // raw objects held back until trained
	size    int             // of samples
}

var _ source.Sink = (*sink)(nil)

func newSink(col *collection, scanner *envelope.Scanner) *sink {
	config := &col.connector.config
	return &sink{col: col, decoder: decoder{
		resource: col.resource,
		scanner:  scanner,
		keep:     config.Keep,
		limit:    config.Limits.Int(limit.MaxObjectBytes),
	}}
}

// Identify implements source.Sink. Revisions of another history cannot be
// resumed from.
func (s *sink) Identify(name string) error {
	was := s.source
	if name == was {
		return nil
	}
	s.source, s.history, s.newest = name, name, 0
	if s.at != 0 {
		return api.Expired("the source is " + name + " and was " + was + ": its revisions start over")
	}
	return nil
}

// BeginList implements source.Sink.
func (s *sink) BeginList() error {
	s.samples, s.size = nil, 0
	if s.trained {
		s.beginList()
	}
	return nil
}

func (s *sink) beginList() {
	s.col.update(func(int64) {
		s.col.connector.totals.Lists++
		s.col.cacher.BeginList()
	})
}

// Object implements source.Sink.
func (s *sink) Object(key api.Key, rv api.ResourceVersion, value []byte) error {
	if s.trained {
		s.add(key, rv, value)
		return nil
	}
	s.samples = append(s.samples, source.Change{Key: key, ResourceVersion: rv, Value: bytes.Clone(value)})
	s.size += len(value)
	if len(s.samples) >= maxSamples || s.size >= maxSampleBytes {
		return s.train()
	}
	return nil
}

// train makes the dictionary and adds what was held back for it. The
// dictionary then stays for the collection's life, whatever is listed later:
// bodies at rest in readers were made with it.
func (s *sink) train() error {
	var dictionary []byte
	if len(s.samples) >= minSamples {
		dictionary = bodies.TrainDictionary(s.sampleBodies())
	}
	if err := s.useDictionary(dictionary); err != nil {
		return err
	}
	s.trained = true
	s.col.update(func(int64) { s.col.cacher.SetDictionary(dictionary) })
	s.beginList()
	for _, o := range s.samples {
		s.add(o.Key, o.ResourceVersion, o.Value)
	}
	s.samples, s.size = nil, 0
	return nil
}

func (s *sink) sampleBodies() [][]byte {
	var samples [][]byte
	for _, sample := range s.samples {
		if o, fault := s.scan(sample.Key, sample.ResourceVersion, sample.Value); fault == nil {
			samples = append(samples, bytes.Clone(o.Body.Data))
		}
	}
	return samples
}

// add takes an object of a list. Its body is whole: readers who come behind a
// list start over, and would have to be brought the base as well.
func (s *sink) add(key api.Key, rv api.ResourceVersion, value []byte) {
	put, fault := s.decode(key, rv, value, &base{})
	s.col.update(func(now int64) {
		s.count(len(value))
		if fault != nil {
			s.fault(key, rv, fault, now)
			return
		}
		if status := s.col.cacher.ListObject(put); status != nil {
			s.fault(key, rv, status, now)
		}
	})
}

// EndList implements source.Sink.
func (s *sink) EndList(rv api.ResourceVersion) error {
	if rv < s.newest {
		// A source that goes back, as one restored from a backup does under
		// its old name, has begun another history.
		s.history = s.source + " restored at " + rv.String()
	}
	if !s.trained {
		if err := s.train(); err != nil {
			return err
		}
	}
	s.col.change(func(now int64) {
		s.col.recovered()
		s.col.cacher.SetSource(s.history)
		s.col.cacher.EndList(rv, now)
		if !s.listed {
			close(s.col.ready)
			s.listed = true
		}
	})
	s.at, s.newest = rv, rv
	return nil
}

// Changes implements source.Sink. Each revision is decoded as a whole before
// the lock is taken and applied as a whole under it.
func (s *sink) Changes(changes []source.Change) error {
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].ResourceVersion == changes[0].ResourceVersion {
			n++
		}
		s.apply(changes[:n])
		changes = changes[n:]
	}
	s.col.change(func(int64) { s.col.recovered() })
	return nil
}

// decoded is a change that is ready to be applied.
type decoded struct {
	put   *cacher.Put // nil for a deletion
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

// bases are what the new bodies of a revision's objects can be the difference
// from. They stay so until the revision is applied: nobody else changes the
// collection.
func (s *sink) bases(revision []source.Change) []base {
	bases := make([]base, len(revision))
	s.col.update(func(int64) {
		heap := s.col.cacher.Heap()
		for i, c := range revision {
			if ref := s.col.cacher.BaseFor(c.Key); ref != 0 && c.Value != nil {
				body := heap.Envelope(ref).Body()
				bases[i] = base{heap.ResourceVersion(ref), api.Body{Codec: body.Codec, Data: bytes.Clone(body.Data)}}
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

// fault runs under the lock.
func (s *sink) fault(key api.Key, rv api.ResourceVersion, status *api.Status, now int64) {
	s.col.connector.totals.Faults++
	s.col.connector.config.Logger.Warn("object cannot be served; readers keep its last good version", "error", status.Message)
	s.col.cacher.Fault(key, rv, status, now)
}

// count runs under the lock.
func (s *sink) count(bytes int) {
	s.col.connector.totals.Events++
	s.col.connector.totals.BytesIn += uint64(bytes)
}
