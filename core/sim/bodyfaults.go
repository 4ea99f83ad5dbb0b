package sim

import (
	"cmp"
	"sort"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// bodyWaitMillis is how long a read may wait for a body (rule B30).
const bodyWaitMillis = 10_000

// bodyFaults contains the pending faults of a link: blocks of bodies that arrive corrupt
// or do not arrive, and messages in which a byte changes. All other data arrives
// unchanged.
type bodyFaults struct {
	rand    *lite.Rand
	corrupt int   // number of blocks that will arrive corrupt
	lostTo  int64 // no block arrives before this time, at which the stream breaks; zero for no loss
	last    bool  // the last block arrives anyway
	missed  bool  // a block of this stream was lost
	changed int   // number of messages in which a byte will change
	arrived int   // number of blocks in the message that arrived last
	spoiled int   // number of the first corrupt block of that message, from 1; zero if there is none
}

// faultyBodies chooses faults for the bodies that a link transports next.
func (l *link) faultyBodies(r *lite.Rand) {
	l.bodies = bodyFaults{rand: lite.NewRand(r.Uint64())}
	if r.Int63n(3) == 0 {
		l.bodies.changed = 1 + int(r.Int63n(3))
	}
	if r.Int63n(2) == 0 {
		l.bodies.corrupt = 1 + int(r.Int63n(3))
		return
	}
	l.bodies.lostTo, l.bodies.last = l.driver.world.now+pick[int64](r, 5000, 20_000, 40_000), r.Int63n(2) == 0
}

// apply returns a message as it arrives, or false if the stream breaks instead. The
// stream breaks if the message contains a delta whose base may be lost, because a
// connector relies on the arrival of earlier data.
func (b *bodyFaults) apply(data []byte) (arrives []byte, ok bool) {
	b.arrived, b.spoiled = 0, 0
	if b.corrupt == 0 && b.lostTo == 0 && !b.missed {
		return data, true
	}
	for len(data) > 0 {
		kind, payload, rest, err := wire.Next(data)
		must(err)
		switch frame := data[:len(data)-len(rest)]; {
		case kind == wire.TypeChecksum && len(arrives) > 0:
			arrives = wire.AppendChecksum(arrives)
		case kind == wire.TypeChecksum:
		case kind == wire.TypeSnapshotBlock:
			arrives = b.snapshotBlock(arrives, frame, parse(payload, &wire.SnapshotBlock{}))
		case kind == wire.TypeSnapshotBodies:
			arrives = b.block(arrives, frame, parse(payload, &wire.SnapshotBodies{}))
		case kind == wire.TypeEvents && b.missed && hasDifference(payload):
			return nil, false
		default:
			arrives = append(arrives, frame...)
		}
		data = rest
	}
	return arrives, true
}

// hasDifference reports whether an Events frame contains a delta whose base was sent
// before.
func hasDifference(payload []byte) bool {
	for _, c := range parse(payload, &wire.Events{}).Changes {
		if c.Base.ResourceVersion != 0 && c.Base.Body.Codec == api.NoBody {
			return true
		}
	}
	return false
}

// snapshotBlock truncates the bodies of a snapshot block, but not its rows. A reader that has a
// state compares the bodies with that state. It detects the fault and ends the subscription.
func (b *bodyFaults) snapshotBlock(arrives, frame []byte, f *wire.SnapshotBlock) []byte {
	b.arrived++
	if b.corrupt > 0 {
		whole := f.Data
		rows := sort.Search(len(whole), func(n int) bool { return expandsBlock(f, n, false) })
		if f.Data = whole[:rows+int(b.rand.Int63n(int64(len(whole)-rows+1)))]; !expandsBlock(f, len(f.Data), true) {
			b.corrupt--
			b.spoiled = cmp.Or(b.spoiled, b.arrived)
			return f.Append(arrives)
		}
	}
	return append(arrives, frame...)
}

// expandsBlock reports whether the rows of a block, and its bodies if bodies is set, can
// be expanded from the given number of bytes.
func expandsBlock(f *wire.SnapshotBlock, bytes int, bodies bool) bool {
	part := *f
	part.Data = f.Data[:bytes]
	return part.Expand(&wire.Block{}, bodies) == nil
}

func (b *bodyFaults) block(arrives, frame []byte, f *wire.SnapshotBodies) []byte {
	if b.lostTo != 0 && (!f.Last || !b.last) {
		b.missed = true
		return arrives
	}
	b.arrived++
	if b.corrupt == 0 || f.Objects == 0 {
		return append(arrives, frame...)
	}
	b.corrupt--
	b.spoiled = cmp.Or(b.spoiled, b.arrived)
	if b.rand.Int63n(4) == 0 {
		f.Digest++ // the block appears to have other versions
		return f.Append(arrives)
	}
	// If the changed bytes still expand, the fault truncates the block instead.
	data := append([]byte(nil), f.Data...)
	data[b.rand.Int63n(int64(len(data)))] ^= byte(1 + b.rand.Int63n(255))
	whole := f.Data
	if f.Data = data; expands(f) {
		f.Data = whole[:b.rand.Int63n(int64(len(whole)))]
	}
	return f.Append(arrives)
}

// change changes a byte of some messages, and checks that the engine refuses the changed
// message. Without the Checksum, the engine could parse most of these messages. The
// result is false if the message arrives unchanged.
func (l *link) change(data []byte) (refused bool) {
	b := &l.bodies
	if b.changed == 0 || b.rand.Int63n(4) > 0 {
		return false
	}
	b.changed--
	data = append([]byte(nil), data...)
	checksum := checksumAt(data)
	if checksum == len(data) {
		return false // a cut lost the Checksum, so a change is undetectable
	}
	at := b.rand.Int63n(int64(len(data)))
	if int(at) == checksum {
		return false // the Checksum may become an unknown optional frame
	}
	data[at] ^= byte(1 + b.rand.Int63n(255))
	stream := l.stream
	l.driver.step(&wire.StreamData{Stream: stream, Data: data})
	l.driver.drain()
	if l.stream == stream {
		l.driver.world.fail(ErrProtocol, "%s accepted the message %q, in which byte %d has changed", l.driver.name, data, at)
	}
	l.driver.world.saw(MessageChanged)
	return true
}

// checksumAt returns the position of the Checksum of a message, or the length of the
// message if it has no Checksum.
func checksumAt(message []byte) int {
	for left := message; len(left) > 0; {
		kind, _, rest, err := wire.Next(left)
		must(err)
		if kind == wire.TypeChecksum {
			return len(message) - len(left)
		}
		left = rest
	}
	return len(message)
}

// expands reports whether a block of bodies can be decoded.
func expands(f *wire.SnapshotBodies) bool {
	versions := make([]api.ResourceVersion, f.Objects)
	for i := range versions {
		versions[i] = 1 << 62 // greater than every base
	}
	_, status := f.Expand(&wire.Block{}, versions)
	return status == nil
}

// corruptBodies reports whether a collection was dropped, or is loaded again, because bodies
// do not decompress.
func corruptBodies(status *api.Status) bool {
	return status != nil && strings.Contains(status.Message, "a block of bodies is corrupt")
}

// noteBodies records the faults of bodies that a reader reports.
func (r *reader) noteBodies(status *api.Status) {
	switch {
	case status == nil:
	case strings.Contains(status.Message, "a block of bodies is corrupt; the missing ones are requested again"):
		r.world.saw(BodiesCorrupt)
	case strings.Contains(status.Message, "a block of bodies has other versions"):
		r.world.saw(BodiesOfOthers)
	case strings.Contains(status.Message, "some bodies were not sent"):
		r.world.saw(BodiesIncomplete)
	}
}

// bodyMissing checks that a read fails for lack of a body only after the allowed time,
// and only while bodies are missing.
func (r *reader) bodyMissing(q *request, status *api.Status) {
	if status.Cause != "BodyMissing" {
		return
	}
	r.world.saw(BodyMissing)
	c := q.collection
	if c.complete() && r.collection(c.id) == c {
		r.world.fail(ErrBody, "reader %d: %v, but the collection has all bodies", r.id, status)
	}
	if waited := r.world.now - q.asked; waited < bodyWaitMillis && !r.jumped {
		r.world.fail(ErrBody, "reader %d: %v, after %d ms", r.id, status, waited)
	}
}

// checkReads checks that no read of an object waits longer than allowed once its
// collection has rows. The simulation may delay the tick that ends the wait.
func (r *reader) checkReads() {
	for _, q := range r.requests {
		c := q.collection
		if q.get == "" || !c.ready() || r.collection(c.id) != c {
			q.ready = 0
			continue
		}
		if q.ready == 0 {
			q.ready = r.world.now
		}
		if waited := r.world.now - q.ready; waited > bodyWaitMillis+r.world.lateMillis {
			r.world.fail(ErrBody, "reader %d: a read of %s has waited for %d ms", r.id, q.get, waited)
		}
	}
}
