package selector

import "github.com/watchglass/watchglass/core/api"

// Memo remembers one selector's verdict on each interned label set, so that a
// selector is evaluated once per distinct label set however many objects share
// it. It holds two bits per id and so wants ids that are small and dense. It is
// not safe for concurrent use.
type Memo struct {
	// The verdict that was asked for last, which tends to be the next as well,
	// lies beside what asks: ten thousand memos are not in the processor's cache.
	last     uint32 // id + 1; zero for none
	lastYes  bool
	labels   Labels
	verdicts []uint64 // idsPerWord verdicts in each
	// evaluations counts how often labels was evaluated.
	evaluations uint64
}

// A verdict is two bits: is it known, and is it yes. Zero is "not asked yet".
const (
	known      = 1
	yes        = 2
	idsPerWord = 32

	// maxIDs bounds a Memo to 8 KiB.
	maxIDs = 1 << 15
)

// NewMemo returns a Memo that knows no verdict yet.
func NewMemo(l Labels) *Memo { return &Memo{labels: l} }

// Matches reports whether the selector matches the set that id stands for. The
// set is looked at only when the id is new, or new again after Forget.
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
	word, shift := place(id)
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

// Evaluations counts the requirements that were evaluated, at most.
func (m *Memo) Evaluations() uint64 { return m.evaluations * uint64(len(m.labels.requirements)) }

// Labels is the selector.
func (m *Memo) Labels() Labels { return m.labels }

// Clear drops every verdict.
func (m *Memo) Clear() {
	m.last = 0
	clear(m.verdicts)
}

// Forget drops the verdict on id, which will stand for another set.
func (m *Memo) Forget(id uint32) {
	if m.last == id+1 {
		m.last = 0
	}
	if word, shift := place(id); word < len(m.verdicts) {
		m.verdicts[word] &^= (known | yes) << shift
	}
}

func place(id uint32) (word int, shift uint) {
	return int(id / idsPerWord), uint(id%idsPerWord) * 2
}
