package wire

import "github.com/watchglass/watchglass/core/api"

// CollectionState reports how current a collection is. The engine sends it whenever the
// state changes.
type CollectionState struct {
	Collection         uint32
	State              api.State
	ResourceVersion    api.ResourceVersion // all changes up to this version are included
	LastProgressMillis int64               // time of the last progress, on the clock of Tick
	NextAttemptMillis  int64               // time of the next attempt to connect, on the same clock; zero if none is scheduled
	Objects            uint64
	Loaded             uint64      // number of objects received from the snapshot in progress
	Total              uint64      // estimated number of objects in that snapshot
	Bodies             uint64      // number of objects whose body has arrived
	Status             *api.Status // the reason for the state, if there is one
}

// Append appends the frame to dst.
func (f *CollectionState) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCollectionState)
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = append(dst, byte(f.State))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendVarint(dst, f.LastProgressMillis)
	dst = appendVarint(dst, f.NextAttemptMillis)
	dst = appendUvarint(dst, f.Objects)
	dst = appendUvarint(dst, f.Loaded)
	dst = appendUvarint(dst, f.Total)
	dst = appendUvarint(dst, f.Bodies)
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *CollectionState) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Collection = r.uint32()
	f.State = api.State(r.enum(byte(api.StateClosed)))
	f.ResourceVersion = r.rv()
	f.LastProgressMillis = r.varint()
	f.NextAttemptMillis = r.varint()
	f.Objects = r.uvarint()
	f.Loaded = r.uvarint()
	f.Total = r.uvarint()
	f.Bodies = r.uvarint()
	f.Status = r.status()
	return r.done("CollectionState")
}
