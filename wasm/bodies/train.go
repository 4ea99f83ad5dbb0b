//go:build !wasip1

package bodies

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/klauspost/compress/s2"
)

const (
	gram         = 8       // bytes; what recurs over less than this is not worth a copy
	gramSlots    = 1 << 18 // of the table of grams; a collision only costs ratio
	maxGap       = 128     // bytes that do not recur and yet stay in a piece: one long copy beats two
	maxTraining  = 8 << 20 // bytes of samples that are looked at
	maxDictStart = 32      // bytes of the samples' common start that the first repeat points to
)

// TrainDictionary makes a dictionary of at most 64 KiB for objects like the
// samples: the pieces that recur among them, the commonest last, where the
// shortest references reach. Equal samples in equal order give equal bytes.
// It returns nil when the samples have too little in common to make one.
//
// Twenty samples do; a hundred gain a little, more nothing. Only the first
// 8 MiB are looked at.
func TrainDictionary(samples [][]byte) []byte {
	t := trainer{count: make([]uint32, gramSlots), last: make([]uint32, gramSlots)}
	samples = bounded(samples)
	for i, sample := range samples {
		t.learn(uint32(i+1), sample)
	}
	var pieces []piece
	for _, sample := range samples {
		pieces = t.take(pieces, sample)
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(a.weight, b.weight) })
	content := assemble(pieces)
	if len(content) < minDictionary {
		return nil
	}
	return s2.MakeDict(content, commonStart(samples)).Bytes()
}

func bounded(samples [][]byte) [][]byte {
	total := 0
	for i, sample := range samples {
		if total += len(sample); total > maxTraining {
			return samples[:i]
		}
	}
	return samples
}

// trainer counts in how many samples each gram is.
type trainer struct {
	count []uint32
	last  []uint32 // the sample that counted last, so that it counts once
}

// piece is a run of grams that recur; weight is the mean of their counts.
type piece struct {
	text   []byte
	weight uint32
}

func (t *trainer) learn(id uint32, sample []byte) {
	for i := 0; i+gram <= len(sample); i++ {
		if g := hash(sample[i:]); t.last[g] != id {
			t.last[g] = id
			t.count[g]++
		}
	}
}

// take appends the pieces of a sample that recur and were not taken yet. Gaps
// up to maxGap are kept, because a dictionary in small pieces compresses worse
// than whole samples do: every seam ends a copy.
func (t *trainer) take(pieces []piece, sample []byte) []piece {
	start, end, sum, n := -1, 0, uint32(0), uint32(0)
	flush := func() {
		if start >= 0 {
			pieces = append(pieces, piece{text: sample[start : end+gram], weight: sum / n})
		}
		start, sum, n = -1, 0, 0
	}
	for i := 0; i+gram <= len(sample); i++ {
		g := hash(sample[i:])
		if t.count[g] < 2 {
			continue
		}
		if i-end > maxGap {
			flush()
		}
		if start < 0 {
			start = i
		}
		end = i
		sum += t.count[g]
		n++
		t.count[g] = 0
	}
	flush()
	return pieces
}

func hash(b []byte) uint32 {
	_ = b[gram-1]
	h := uint64(14695981039346656037)
	for _, c := range b[:gram] {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return uint32(h>>32) % gramSlots
}

// assemble joins the pieces and keeps the end, where the commonest are.
func assemble(pieces []piece) []byte {
	var content []byte
	for _, p := range pieces {
		content = append(content, p.text...)
	}
	return content[max(0, len(content)-maxDictionary):]
}

// commonStart is what most bodies begin with: where the first copy goes.
func commonStart(samples [][]byte) []byte {
	if len(samples) == 0 {
		return nil
	}
	start := samples[0][:min(maxDictStart, len(samples[0]))]
	for _, sample := range samples[1:] {
		for !bytes.HasPrefix(sample, start) && len(start) > 0 {
			start = start[:len(start)-1]
		}
	}
	return start
}
