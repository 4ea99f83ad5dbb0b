package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// begin starts the subscription: it resumes, continues a snapshot, or starts a new
// snapshot. It returns false until the collection is ready and has reached the requested
// version.
func (s *subscription) begin(now int64) (ready bool, status *api.Status) {
	c := s.cacher
	if !c.Ready() {
		return false, nil
	}
	if s.clusterID != c.Upstream().ClusterID() {
		if s.restored {
			return false, otherSource()
		}
		// Versions of a different history are not comparable.
		s.clusterID, s.from, s.notOlderThan = c.Upstream().ClusterID(), 0, 0
	}
	if c.ResourceVersion() < s.notOlderThan {
		if s.deadline == 0 {
			s.deadline = now + freshnessMillis
		}
		if now < s.deadline {
			return false, nil
		}
		return false, api.TooLargeResourceVersion(s.notOlderThan, c.ResourceVersion())
	}
	s.generation = c.Window().Generation()
	if s.deltaEpoch != c.Bodies().Epoch() || s.deltaEpoch == 0 {
		s.deltaEpoch, s.deltaEpochSince = c.Bodies().Epoch(), s.from
	}
	position, status := c.Window().After(s.from)
	s.phase, s.rv = live, s.from
	if s.from == 0 || s.next != "" {
		s.phase = listing
		if !s.restored && (s.from == 0 || status != nil) {
			s.from, s.deltaEpochSince, s.next, status = 0, 0, s.firstKey(), nil
			s.rv, position = c.ResourceVersion(), c.Window().End()
		}
		if s.bodies != nil {
			s.bodies.next = s.firstKey()
		}
	}
	s.follower.MoveTo(position)
	return true, status
}

// firstKey returns a key that sorts before all keys of the subscription's objects. It is
// not empty, because an empty next key means that no snapshot is in progress.
func (s *subscription) firstKey() api.Key {
	if s.namespace == "" {
		return "\x00"
	}
	return api.Key(s.namespace + "/")
}

// appendStart appends the schema and, for a snapshot, SnapshotBegin. For a restored
// subscription it appends nothing, because the schema is sent before the next object.
func (s *subscription) appendStart(message []byte) []byte {
	if s.restored {
		s.dictionary = noSchemaSent
		return message
	}
	number, dictionary := s.cacher.Bodies().Current()
	message = s.appendSchema(message, number, dictionary)
	if s.phase == listing {
		begin := wire.SnapshotBegin{Subscription: s.id, ResourceVersion: s.rv, Total: uint64(s.filter.Count(s.cacher.State())), Continues: s.from != 0}
		message = begin.Append(message)
	}
	return message
}

// appendSchema appends the schema and, if needed, the dictionary of the bodies that
// follow.
func (s *subscription) appendSchema(message []byte, number uint32, dictionary []byte) []byte {
	s.dictionary = number
	schema := wire.Schema{Subscription: s.id, Schema: *s.schema(), ClusterID: s.clusterID, DeltaEpoch: s.deltaEpoch}
	if len(dictionary) > 0 && !s.omitsBodies() {
		schema.Dictionary = dictionaryID(dictionary)
		message = s.session.appendDictionary(message, schema.Dictionary, dictionary)
	}
	return schema.Append(message)
}

// resendSchema causes the schema and label sets to be sent again before the next object.
// Dictionaries are not repeated.
func (s *subscription) resendSchema() {
	s.dictionary = noSchemaSent
	clear(s.labelSets)
}
