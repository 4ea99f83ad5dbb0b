package connectortest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// take applies one frame, and returns an error if the frame contradicts the state of the
// reader.
func (r *Reader) take(t wire.Type, frame wire.Frame) error {
	switch f := frame.(type) {
	case *wire.Welcome:
		r.Welcome = *f
		r.Welcome.Server = strings.Clone(f.Server)
	case *wire.Dictionary:
		if _, known := r.dictionaries[f.ID]; known {
			return fmt.Errorf("dictionary %d was sent twice on one connection", f.ID)
		}
		r.dictionaries[f.ID] = slices.Clone(f.Data)
	case *wire.SubscriptionStatus:
		return r.takeStatus(f)
	case *wire.Schema:
		return takeFor(r, f.Subscription, f, r.takeSchema)
	case *wire.LabelSet:
		return takeFor(r, f.Subscription, f, takeLabelSet)
	case *wire.SnapshotBegin:
		return takeFor(r, f.Subscription, f, takeBegin)
	case *wire.SnapshotPart:
		return takeFor(r, f.Subscription, f, takePart)
	case *wire.SnapshotBlock:
		return takeFor(r, f.Subscription, f, takeBlock)
	case *wire.SnapshotEnd:
		return takeFor(r, f.Subscription, f, takeEnd)
	case *wire.SnapshotBodies:
		return takeFor(r, f.Subscription, f, takeBodies)
	case *wire.Events:
		return takeFor(r, f.Subscription, f, takeEvents)
	case *wire.Progress:
		return takeFor(r, f.Subscription, f, takeProgress)
	case *wire.ObjectError:
		return takeFor(r, f.Subscription, f, takeFault)
	case *wire.SourceError:
		return takeFor(r, f.Subscription, f, takeSourceError)
	default:
		return wire.Unknown(t)
	}
	return nil
}

// takeFor applies a frame of a subscription. It skips a frame if the subscription is
// unknown or has ended.
func takeFor[F wire.Frame](r *Reader, id uint32, f F, take func(*Subscription, F) error) error {
	s := r.subscriptions[id]
	if s == nil || s.Status != nil {
		return nil
	}
	if s.Schema == nil {
		switch any(f).(type) {
		case *wire.Schema, *wire.ObjectError, *wire.SourceError:
		default:
			return fmt.Errorf("subscription %d: data before the schema", s.ID)
		}
	}
	return take(s, f)
}

func (r *Reader) takeStatus(f *wire.SubscriptionStatus) error {
	if f.Status == nil {
		return fmt.Errorf("a status without a code")
	}
	if f.Subscription == 0 {
		r.Status = f.Status
	} else if s := r.subscriptions[f.Subscription]; s != nil {
		s.Status = f.Status
	}
	return nil
}

func (r *Reader) takeSchema(s *Subscription, f *wire.Schema) error {
	s.Schema, s.ClusterID = &f.Schema, f.ClusterID
	if f.DeltaEpoch != s.DeltaEpoch {
		s.DeltaEpoch, s.DeltaEpochSince = f.DeltaEpoch, s.ResourceVersion
	}
	if f.Dictionary == 0 {
		s.dictionary = nil
		return nil
	}
	dictionary, ok := r.dictionaries[f.Dictionary]
	if !ok {
		return fmt.Errorf("schema refers to dictionary %d, which was not sent", f.Dictionary)
	}
	s.dictionary = dictionary
	return nil
}

func takeLabelSet(s *Subscription, f *wire.LabelSet) error {
	labels := make(api.Labels, len(f.Labels))
	for i, l := range f.Labels {
		labels[i] = api.Label{Key: strings.Clone(l.Key), Value: strings.Clone(l.Value)}
	}
	s.labels[f.ID] = labels
	return nil
}

func takeBegin(s *Subscription, f *wire.SnapshotBegin) error {
	s.staged, s.stagedRV, s.Total = map[api.Key]Object{}, f.ResourceVersion, f.Total
	return nil
}

func takePart(s *Subscription, f *wire.SnapshotPart) error {
	if s.staged == nil {
		return fmt.Errorf("SnapshotPart outside of a snapshot")
	}
	s.Parts++
	for i := range f.Objects {
		o, err := s.object(&f.Objects[i], nil)
		if err != nil {
			return err
		}
		key := api.Key(strings.Clone(string(f.Objects[i].Key)))
		if _, again := s.staged[key]; again {
			return fmt.Errorf("%s occurs twice in a snapshot", key)
		}
		s.staged[key] = o
	}
	return nil
}

// takeBlock applies a block in the same way as a SnapshotPart. The IDs of its label sets
// are valid only within the block.
func takeBlock(s *Subscription, f *wire.SnapshotBlock) error {
	var b wire.Block
	if status := f.Expand(&b, true); status != nil {
		return status
	}
	for i := range b.Objects {
		if namespace := b.Objects[i].Key.Namespace(); namespace != b.Objects[0].Key.Namespace() {
			return fmt.Errorf("a block has objects of the namespaces %q and %q", b.Objects[0].Key.Namespace(), namespace)
		}
	}
	labels := s.labels
	s.labels = map[uint32]api.Labels{}
	defer func() { s.labels = labels }()
	for i, set := range b.LabelSets {
		if err := takeLabelSet(s, &wire.LabelSet{ID: uint32(i), Labels: set}); err != nil {
			return err
		}
	}
	return takePart(s, &wire.SnapshotPart{Objects: b.Objects})
}

func takeEnd(s *Subscription, f *wire.SnapshotEnd) error {
	if s.staged == nil {
		return fmt.Errorf("SnapshotEnd outside of a snapshot")
	}
	if f.ResourceVersion < s.stagedRV {
		return fmt.Errorf("a snapshot that ends at %s, before %s", f.ResourceVersion, s.stagedRV)
	}
	s.Objects, s.staged, s.DeltaEpochSince = s.staged, nil, 0
	s.ResourceVersion, s.Synced = f.ResourceVersion, true
	s.Snapshots++
	return nil
}

// takeBodies adds bodies to objects that were received without them.
func takeBodies(s *Subscription, f *wire.SnapshotBodies) error {
	keys := slices.DeleteFunc(s.Keys(), func(key api.Key) bool { return key < f.First })
	if len(keys) < int(f.Objects) {
		return fmt.Errorf("%d bodies from %s on, and only %d rows", f.Objects, f.First, len(keys))
	}
	keys = keys[:f.Objects]
	digest, versions := uint64(0), make([]api.ResourceVersion, len(keys))
	for i, key := range keys {
		versions[i] = s.Objects[key].ResourceVersion
		digest = wire.RowDigest(digest, key, versions[i])
	}
	if digest != f.Digest {
		return fmt.Errorf("bodies of %d rows from %s on, which differ from %v", f.Objects, f.First, keys)
	}
	var b wire.Block
	bodies, status := f.Expand(&b, versions)
	if status != nil {
		return status
	}
	for i, key := range keys {
		o := s.Objects[key]
		if err := s.decode(&o, &wire.Change{Key: key, Base: bodies[i].Base}, bodies[i].Body, nil); err != nil {
			return err
		}
		s.Objects[key] = o
	}
	s.BodiesSynced = s.BodiesSynced || f.Last
	return nil
}

func takeProgress(s *Subscription, f *wire.Progress) error {
	s.Progress++
	if f.ResourceVersion < s.ResourceVersion {
		return fmt.Errorf("progress goes back from %s to %s", s.ResourceVersion, f.ResourceVersion)
	}
	s.ResourceVersion = f.ResourceVersion
	return nil
}

func takeFault(s *Subscription, f *wire.ObjectError) error {
	s.Faults[api.Key(strings.Clone(string(f.Key)))] = f.Status
	return nil
}

func takeSourceError(s *Subscription, f *wire.SourceError) error {
	s.SourceError = f.Status
	return nil
}

// takeEvents checks that the events are new, in order, and consistent with the state.
// ADDED requires a new object; MODIFIED and DELETED require an existing object. During a
// snapshot, takeEvents checks only the order, because parts may be newer than events.
func takeEvents(s *Subscription, f *wire.Events) error {
	s.Frames++
	target, last := s.Objects, s.ResourceVersion
	if s.staged != nil {
		target, last = s.staged, s.stagedRV
	}
	if len(f.Changes) > 0 && f.Changes[0].ResourceVersion <= last {
		return fmt.Errorf("an event at %s after %s", f.Changes[0].ResourceVersion, last)
	}
	for i := range f.Changes {
		if err := s.change(target, &f.Changes[i]); err != nil {
			return err
		}
	}
	if s.staged != nil {
		s.stagedRV = f.ResourceVersion
		return nil
	}
	s.ResourceVersion, s.Synced = f.ResourceVersion, true
	return nil
}

func (s *Subscription) change(target map[api.Key]Object, c *wire.Change) error {
	s.Events++
	key := api.Key(strings.Clone(string(c.Key)))
	held, has := target[key]
	if s.staged == nil && has == (c.Type == api.Added) {
		return fmt.Errorf("%s of %s at %s, held: %t", c.Type, key, c.ResourceVersion, has)
	}
	if has && held.ResourceVersion >= c.ResourceVersion {
		if s.staged == nil {
			return fmt.Errorf("%s of %s at %s, held at %s", c.Type, key, c.ResourceVersion, held.ResourceVersion)
		}
		return nil
	}
	if c.Type == api.Deleted {
		delete(target, key)
		return nil
	}
	var before *Object
	if has {
		before = &held
	}
	o, err := s.object(c, before)
	if err != nil {
		return err
	}
	target[key] = o
	return nil
}
