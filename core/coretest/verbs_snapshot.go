package coretest

import (
	"fmt"
	"slices"

	"github.com/watchglass/watchglass/core/wire"
)

// snapshot is the data that the program stores for a collection, under a name.
type snapshot struct {
	name     string
	request  uint32 // the request that takes the snapshot
	stepwise bool   // the scenario requests each chunk
	fresh    [][]byte
	chunks   [][]byte // stored chunks: a complete state and the changes since
	rv       wire.TakeSnapshot
}

func (h *harness) findSnapshot(v *verb, name string) *snapshot {
	for _, s := range h.snapshots {
		if s.name == name {
			return s
		}
	}
	if v.err == nil {
		v.fail("there is no snapshot %q", name)
	}
	return &snapshot{}
}

// doSnapshot takes a snapshot. If a snapshot with the same name exists, the new one
// contains only the changes since the old one.
func doSnapshot(h *harness, v *verb) error {
	name := v.take("a name for the snapshot")
	f := &wire.TakeSnapshot{
		Collection: v.takeNumber("the number of the collection"), ChunkBytes: uint32(v.optionNumber("chunk")),
	}
	stepwise := v.flag("stepwise")
	if v.err != nil {
		return v.err
	}
	at := slices.IndexFunc(h.snapshots, func(s *snapshot) bool { return s.name == name })
	if at < 0 {
		at = len(h.snapshots)
		h.snapshots = append(h.snapshots, &snapshot{name: name})
	}
	s := h.snapshots[at]
	f.Request = h.ask(f.Collection)
	f.ResourceVersion, f.ClusterID = s.rv.ResourceVersion, s.rv.ClusterID
	s.request, s.stepwise, s.fresh = f.Request, stepwise, nil
	return h.command(v, f)
}

func doChunk(h *harness, v *verb) error {
	s := h.findSnapshot(v, v.take("the name of a snapshot"))
	return h.command(v, &wire.NextChunk{Request: s.request, Stop: v.flag("stop")})
}

// takeChunk stores and prints a chunk that the engine delivered.
func (h *harness) takeChunk(f *wire.SnapshotChunk) error {
	at := slices.IndexFunc(h.snapshots, func(s *snapshot) bool { return s.request == f.Request })
	if at < 0 {
		return fmt.Errorf("a chunk for request %d, which is not for a snapshot", f.Request)
	}
	s := h.snapshots[at]
	s.fresh = append(s.fresh, slices.Clone(f.Data))
	if h.network.tapped {
		if err := h.printer.storedChunk(f.Data); err != nil {
			return err
		}
	}
	what := "changes"
	if f.Whole {
		what = "the whole state"
	}
	text := fmt.Sprintf("snapshot %s: chunk %d of %s", s.name, len(s.fresh), what)
	if !f.Last {
		h.printer.line("%s", text)
		h.chunkWanted = !s.stepwise
		h.chunkOf = f.Request
		return nil
	}
	if f.Whole {
		s.chunks = nil
	}
	s.chunks = append(s.chunks, s.fresh...)
	s.rv = wire.TakeSnapshot{ResourceVersion: f.ResourceVersion, ClusterID: string([]byte(f.ClusterID))}
	h.printer.line("%s, the last, rv=%d", text, f.ResourceVersion)
	return nil
}

// askChunk requests the next chunk of a snapshot that is not taken stepwise.
func (h *harness) askChunk() error {
	h.chunkWanted = false
	return h.toEngine(&wire.NextChunk{Request: h.chunkOf})
}

func doDamage(h *harness, v *verb) error {
	s := h.findSnapshot(v, v.take("the name of a snapshot"))
	how := v.take("what to do: bit, format, half, lose, last, swap or all")
	if err := v.done(); err != nil {
		return err
	}
	n := len(s.chunks)
	if n == 0 {
		return fmt.Errorf("no state is stored under that name")
	}
	last := slices.Clone(s.chunks[n-1])
	switch how {
	case "bit": // flips a bit in the middle of the last chunk
		last[len(last)/2] ^= 4
	case "format":
		_, payload, body, err := wire.Next(last)
		if err != nil {
			return err
		}
		last[len(last)-len(body)-len(payload)]++
	case "half": // truncates the last chunk
		last = last[:len(last)/2]
	case "lose": // removes the first chunk
		s.chunks = s.chunks[1:]
		return nil
	case "last": // removes the last chunk
		s.chunks = s.chunks[:n-1]
		return nil
	case "swap": // swaps the first two chunks
		s.chunks = append([][]byte{s.chunks[1], s.chunks[0]}, s.chunks[2:]...)
		return nil
	case "all":
		s.chunks = nil
		return nil
	default:
		return fmt.Errorf("unknown damage %q", how)
	}
	s.chunks = append(slices.Clone(s.chunks[:n-1]), last)
	return nil
}

// restore passes a stored snapshot to a collection.
func (h *harness) restore(collection uint32, s *snapshot) error {
	for _, chunk := range s.chunks {
		if err := h.toEngine(&wire.RestoreChunk{Collection: collection, Data: chunk}); err != nil {
			return err
		}
	}
	return h.toEngine(&wire.RestoreChunk{Collection: collection, End: true})
}
