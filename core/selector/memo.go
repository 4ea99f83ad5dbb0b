package selector

import "github.com/watchglass/watchglass/core/api"

// Memo caches the result of one selector per interned label set. A selector is
// evaluated once per distinct set, regardless of how many objects share it. A
// Memo uses two bits per ID, so IDs should be small and dense. It is not safe for
// concurrent use.
type Memo struct {
	// The most recent result is stored inline because the next lookup is often for the
	// same ID. With ten thousand memos, the verdicts slices do not fit into the processor
	// cache.
	last     uint32 // ID + 1; zero for none
	lastYes  bool
	labels   Labels
	verdicts []uint64 // idsPerWord results per element
	// evaluations counts the calls to labels.Matches.
	evaluations uint64
}

// Each result has two bits, known and yes. Zero means not evaluated.
const (
	known      = 1
	yes        = 2
	idsPerWord = 32

	// maxIDs limits a Memo to 8 KiB.
	maxIDs = 1 << 15
)

// NewMemo returns an empty Memo.
func NewMemo(l Labels) *Memo { return &Memo{labels: l} }

// Matches reports whether the selector matches the set with the given ID. It evaluates
// the set only if the Memo has no result for the ID.
func (m *Memo) Matches(id uint32, set api.Labels) bool {
	if m.last != id+1 || m.last == 0 {
		m.last, m.lastYes = id+1, m.labels.Empty() || m.matches(id, set)
	}
	return m.lastYes
}

func (m *Memo) matches(id uint32, set api.Labels) bool {
	if id >= maxIDs {
		return m.evaluate(set)
	}
	word, shift := bitsOf(id)
	if missing := word + 1 - len(m.verdicts); missing > 0 {
		m.verdicts = append(m.verdicts, make([]uint64, missing)...)
	}
	verdict := m.verdicts[word] >> shift
	if verdict&known == 0 {
		verdict = known
		if m.evaluate(set) {
			verdict |= yes
		}
		m.verdicts[word] |= verdict << shift
	}
	return verdict&yes != 0
}

func (m *Memo) evaluate(set api.Labels) bool {
	m.evaluations++
	return m.labels.Matches(set)
}

// Evaluations returns an upper bound on the number of evaluated requirements.
func (m *Memo) Evaluations() uint64 { return m.evaluations * uint64(len(m.labels.requirements)) }

// Labels returns the selector whose results the Memo caches.
func (m *Memo) Labels() Labels { return m.labels }

// Clear drops all results.
func (m *Memo) Clear() {
	m.last = 0
	clear(m.verdicts)
}

// Forget drops the result for an ID that will be reused for another set.
func (m *Memo) Forget(id uint32) {
	if m.last == id+1 {
		m.last = 0
	}
	if word, shift := bitsOf(id); word < len(m.verdicts) {
		m.verdicts[word] &^= (known | yes) << shift
	}
}

func bitsOf(id uint32) (word int, shift uint) {
	return int(id / idsPerWord), uint(id%idsPerWord) * 2
}
