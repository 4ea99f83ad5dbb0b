package wire

import (
	"bytes"
	"math"
	"runtime"
	"testing"
)

// FuzzFrame tests every parser. Encoding and parsing an accepted frame must yield the
// same frame, even if Parse reuses a frame.
func FuzzFrame(f *testing.F) {
	for _, s := range samples {
		f.Add(s.frame.Append(nil))
	}
	used := map[Type]frame{}
	f.Fuzz(func(t *testing.T, message []byte) {
		typ, payload, _, err := Next(message)
		if err != nil || blank(typ) == nil {
			return
		}
		first := blank(typ)
		if err := first.Parse(payload); err != nil {
			return
		}
		canonical := first.Append(nil)
		if used[typ] == nil {
			used[typ] = blank(typ)
		}
		for _, again := range []frame{blank(typ), used[typ]} {
			_, payload, rest, err := Next(canonical)
			if err != nil || len(rest) > 0 {
				t.Fatalf("Next of what Append wrote: %v, %d bytes left", err, len(rest))
			}
			if err := again.Parse(payload); err != nil {
				t.Fatalf("Parse of what Append wrote: %v", err)
			}
			if b := again.Append(nil); !bytes.Equal(b, canonical) {
				t.Fatalf("not a fixpoint:\n%x\n%x", canonical, b)
			}
		}
	})
}

// FuzzEnvelope checks that accessors never panic, and agree with the bytes of a
// valid envelope.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(webItem.Envelope))
	f.Add([]byte(bareItem.Envelope))
	f.Add([]byte(timedItem.Envelope))
	f.Fuzz(func(t *testing.T, b []byte) {
		e := Envelope(b)
		for i := -1; i < 4; i++ {
			e.Field(i)
			e.Column(i)
		}
		key, uid, body := e.Key(), e.UID(), e.Body()
		if e.Validate() != nil {
			e.AppendWithBody(nil, body)
			return
		}
		again := Envelope(e.AppendWithBody(nil, body))
		if again.Key() != key || again.UID() != uid || !bytes.Equal(again, e) {
			t.Fatalf("an envelope with its own body is another one:\n%x\n%x", e, again)
		}
	})
}

// TestForgedCounts inserts a forged number at every byte of every sample: a huge one, and
// a smaller one followed by zeros. Parsing may fail, but must allocate at most a small
// multiple of the payload.
func TestForgedCounts(t *testing.T) {
	const factor, slack = 32, 4 << 10
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x07}
	for _, s := range samples {
		typ, payload, _, _ := Next(s.frame.Append(nil))
		if len(payload) > 1<<10 {
			continue // long strings test nothing new here
		}
		for i := range payload {
			forged := append(append(bytes.Clone(payload[:i]), huge...), payload[i:]...)
			if got := parseBytes(typ, forged); got > uint64(factor*len(forged)+slack) {
				t.Errorf("%s: a number forged at byte %d made the parser allocate %d bytes for %d", s.file(), i, got, len(forged))
			}
			// The zeros after the count of 16,384 suffice for elements of up to four
			// bytes.
			full := append(append(bytes.Clone(payload[:i]), 0x80, 0x80, 0x01), make([]byte, 1<<16)...)
			if got := parseBytes(typ, full); got > uint64(factor*len(full)+slack) {
				t.Errorf("%s: a count forged at byte %d made the parser allocate %d bytes for %d", s.file(), i, got, len(full))
			}
		}
	}
}

// parseBytes returns how many bytes a parse allocates. The result is the minimum of three
// runs, because the runtime also counts concurrent allocations.
func parseBytes(typ Type, payload []byte) uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		f := blank(typ)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = f.Parse(payload)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
