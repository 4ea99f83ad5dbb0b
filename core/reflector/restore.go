package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Persisted state consists of frames that a connector sent. It is restored by
// replaying them on a reflector that was never connected. The cacher has no
// readers until the restore is complete.

// Replay processes persisted frames with progressAt as the current time. It collects
// the dictionaries that they define. An error means that the frames were not
// written by this program; the reflector is then unusable.
func (r *Reflector) Replay(frames []byte, progressAt int64) error {
	r.now = progressAt
	if r.phase == idle {
		r.phase, r.labels = subscribed, &labelSets{}
	}
	for len(frames) > 0 {
		t, payload, rest, err := wire.Next(frames)
		if err == nil {
			err = r.replay(t, payload)
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

func (r *Reflector) replay(t wire.Type, payload []byte) error {
	f, err := wire.Persisted.New(t)
	switch f := f.(type) {
	case nil:
		return err
	case *wire.SnapshotPart:
		f.Objects = r.parts
	}
	if err := f.Parse(payload); err != nil {
		return err
	}
	switch f := f.(type) {
	case *wire.Dictionary:
		r.replayed = append(r.replayed, wire.Dictionary{ID: f.ID, Data: append([]byte(nil), f.Data...)})
	case *wire.Schema:
		return r.replaySchema(f)
	case *wire.LabelSet:
		r.LabelSet(f)
	case *wire.ObjectError:
		r.Fault(f)
	case *wire.SnapshotBegin:
		return r.SnapshotBegin(f)
	case *wire.SnapshotPart:
		r.parts = f.Objects
		return r.SnapshotPart(f, 0)
	case *wire.StoredBlock:
		return r.replayBlock(f)
	case *wire.SnapshotEnd:
		return r.SnapshotEnd(f)
	case *wire.Events:
		return r.Changes(f, 0)
	case *wire.Progress:
		return r.Progress(f)
	}
	return nil
}

func (r *Reflector) replayBlock(f *wire.StoredBlock) error {
	if r.phase != listing {
		return api.Protocol("the persisted state has objects outside of a snapshot")
	}
	if status := r.storedBlock(f, r.cacher.Listing().Object); status != nil {
		return status
	}
	return nil
}

func (r *Reflector) replaySchema(f *wire.Schema) error {
	dictionary, err := dictionaryOf(f, r.replayed)
	if err != nil {
		return err
	}
	if !r.Schema(f, dictionary) {
		return api.Protocol("the persisted changes do not belong to the persisted objects")
	}
	return nil
}

// dictionaryOf returns the dictionary that a schema refers to.
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

// Replayed ends the replay. The state counts as current at the time given to the
// last Replay, and the reflector waits for its first connection. It returns false
// if the replay did not contain a complete state.
func (r *Reflector) Replayed() bool {
	r.phase, r.labels, r.replayed, r.parts, r.out = idle, &labelSets{}, nil, nil, nil
	r.Relists, r.Resumes, r.Expired, r.Events = 0, 0, 0, 0
	return r.schema && r.cacher.Ready()
}
