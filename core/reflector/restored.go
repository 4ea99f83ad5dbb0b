package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Restored is the part of a reflector that restores a persisted state. The state consists
// of frames that a connector sent, which are replayed on a reflector that was never
// connected. The cacher has no readers until the restore is complete.
type Restored struct {
	reflector    *Reflector
	dictionaries []wire.Dictionary // during replay
	parts        []wire.Change     // buffer for parsing parts during replay
	block        *wire.Block       // buffer for persisted blocks, which may be read during a snapshot
	unloaded     int               // memory that unloaded bodies of the persisted state need
	ended        bool              // a persisted state was restored
}

// Restored returns the part that restores a persisted state.
func (r *Reflector) Restored() *Restored { return &r.restored }

// Replay processes persisted frames with progressAt as the current time. It collects the
// dictionaries that the frames define. An error means that the frames are not a valid
// state; the reflector is then unusable.
func (s *Restored) Replay(frames []byte, progressAt int64) error {
	r := s.reflector
	r.now = progressAt
	if r.phase == idle {
		r.phase, r.labels = subscribed, &labelSets{}
	}
	for len(frames) > 0 {
		t, payload, rest, err := wire.Next(frames)
		if err == nil {
			err = s.replay(t, payload)
		}
		if err != nil {
			return err
		}
		if r.phase == waiting {
			return r.status
		}
		frames = rest
	}
	return nil
}

func (s *Restored) replay(t wire.Type, payload []byte) error {
	f, err := wire.Persisted.New(t)
	switch f := f.(type) {
	case nil:
		return err
	case *wire.SnapshotPart:
		f.Objects = s.parts
	}
	if err := f.Parse(payload); err != nil {
		return err
	}
	switch f := f.(type) {
	case *wire.Dictionary:
		s.dictionaries = append(s.dictionaries, wire.Dictionary{ID: f.ID, Data: append([]byte(nil), f.Data...)})
		return nil
	case *wire.Schema:
		return s.schema(f)
	case *wire.StoredBlock:
		return s.storedBlock(f)
	case *wire.SnapshotPart:
		s.parts = f.Objects
	}
	return s.reflector.Receive(f, 0)
}

func (s *Restored) storedBlock(f *wire.StoredBlock) error {
	r := s.reflector
	if r.phase != listing {
		return api.Protocol("the persisted state has objects outside of a snapshot")
	}
	if status := r.storedBlock(f, r.cacher.Listing().Object); status != nil {
		return status
	}
	return nil
}

func (s *Restored) schema(f *wire.Schema) error {
	dictionary, err := dictionaryOf(f, s.dictionaries)
	if err != nil {
		return err
	}
	if !s.reflector.Schema(f, dictionary) {
		return api.Protocol("the persisted changes do not belong to the persisted objects")
	}
	return nil
}

// dictionaryOf returns the dictionary that a schema refers to, or nil if it refers to
// none. It returns an error if the dictionary is missing.
func dictionaryOf(f *wire.Schema, known []wire.Dictionary) ([]byte, error) {
	for _, d := range known {
		if d.ID == f.Dictionary {
			return d.Data, nil
		}
	}
	if f.Dictionary != 0 {
		return nil, api.Protocol("the persisted state refers to a missing dictionary")
	}
	return nil, nil
}

// End ends the replay. The time given to the last Replay becomes the time of the last
// progress, and the reflector waits for its first connection. End returns false if the
// replay did not contain a complete state.
func (s *Restored) End() bool {
	r := s.reflector
	r.phase, r.labels, r.out = idle, &labelSets{}, nil
	s.dictionaries, s.parts = nil, nil
	r.Relists, r.Resumes, r.Expired, r.Events = 0, 0, 0, 0
	s.ended = true
	return r.schema && r.cacher.Ready()
}

// Current reports whether the state is the restored one, which no list has replaced.
func (s *Restored) Current() bool { return s.ended && s.reflector.Relists == 0 }
