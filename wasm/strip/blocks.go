package strip

import (
	"encoding/binary"
	"slices"
)

// A Go function can be suspended at each call, and resumes after that call. Go's compiler
// therefore ends a WebAssembly block after each call, so that a br_table at the top of
// the function can branch to that point. This file removes the blocks that no branch
// targets: those that end after a call that does not return, and most of those between
// two calls.

// flow describes the structure of a function's code.
type flow struct {
	steps   []step
	closing []int   // by index of a block, loop or if in steps: the index of its end
	targets [][]int // by index of a branch in steps: the indices of the blocks, loops or ifs that it targets; -1 is the function
	table   int     // index of the br_table at the top, or -1
}

func newFlow(steps []step) *flow {
	w := &flow{steps, make([]int, len(steps)), make([][]int, len(steps)), -1}
	var open []int
	target := func(depth uint64) int {
		if depth >= uint64(len(open)) {
			return -1
		}
		return open[len(open)-1-int(depth)]
	}
	for i, s := range steps {
		switch s.op {
		case opBlock, opLoop, opIf:
			open = append(open, i)
		case end:
			if len(open) > 0 {
				w.closing[open[len(open)-1]] = i
				open = open[:len(open)-1]
			}
		case opBr, opBrIf:
			w.targets[i] = []int{target(s.operand())}
		case opBrTable:
			r := &reader{rest: s.text[1:]}
			for range r.unsigned() + 1 {
				w.targets[i] = append(w.targets[i], target(r.unsigned()))
			}
			if w.table < 0 && i > 0 && steps[i-1].op == opLocalGet && steps[i-1].operand() == 0 {
				w.table = i
			}
		}
	}
	return w
}

// thin removes from the table the block numbers at which the function neither resumes nor
// continues after a backward jump. The entry of a removed number becomes a copy of the
// previous entry. addresses is the set of words in the data, which includes all return
// addresses that the data contains.
func (w *flow) thin(f function, addresses map[uint64]bool) {
	used, ok := w.numbers(f)
	if !ok {
		return
	}
	used[uint64(f.DeferReturn)] = true
	list := w.targets[w.table]
	last := uint64(len(list) - 1) // the default entry, for all other numbers
	for n := range used {
		if n > last && n < maxNumber {
			used[last] = true
			break
		}
	}
	for i := 2; i < len(list); i++ {
		if used[uint64(i)] || addresses[uint64(f.Number)<<16+uint64(i)] {
			continue
		}
		list[i] = list[i-1]
		if trapUnused {
			list[i] = w.trap()
		}
	}
}

// numbers returns the block numbers that the code of the function sets for a jump or
// pushes in return addresses. ok is false if the code jumps in an unknown way.
func (w *flow) numbers(f function) (used map[uint64]bool, ok bool) {
	used = make(map[uint64]bool)
	for i, s := range w.steps {
		switch {
		case s.op == i64Const && !begins(w.steps[i:], endlessCall...):
			used[uint64(s.constant())-uint64(f.Number)<<16] = true
		case (s.op == opBr || s.op == opBrIf) && w.restarts(w.targets[i][0]):
			if s.op != opBr || i < 2 || !begins(w.steps[i-2:], anyNumber, plain(opLocalSet, 0)) {
				return nil, false
			}
			used[uint64(w.steps[i-2].constant())] = true
		}
	}
	return used, w.table >= 0
}

// restarts reports whether target is a loop around the table, so that a branch to target
// leads to the table.
func (w *flow) restarts(target int) bool {
	return target >= 0 && target < w.table && w.steps[target].op == opLoop
}

// trapUnused makes a removed number trap instead of continuing at the previous entry.
// Tests set it to find numbers that are removed but used.
var trapUnused = false

// trap replaces the result at the end of the function with a trap. It returns the index
// of the outermost block, whose end leads to the trap. leaveAtOnce has replaced the other
// branches to that end.
func (w *flow) trap() int {
	n := len(w.steps)
	w.steps[n-2] = plain(0x00)
	return slices.Index(w.closing, n-3)
}

// leaveAtOnce replaces branches to the end of the function, where the function returns 1,
// with return instructions. Branches differ in their depth, but all returns are equal, so
// returns compress better. leaveAtOnce reports whether the function ends by returning 1.
func (w *flow) leaveAtOnce() bool {
	n := len(w.steps)
	if n < 4 || !begins(w.steps[n-3:], ended, plain(i32Const, 1), ended) {
		return false
	}
	for i, s := range w.steps {
		if s.op == opBrIf && w.targets[i][0] >= 0 && w.closing[w.targets[i][0]] == n-3 && w.steps[w.targets[i][0]].op == opBlock {
			w.targets[i] = nil
			w.steps[i] = step{opIf, []byte{opIf, 0x40, i32Const, 1, 0x0f, end}}
			w.closing[i] = i
		}
	}
	return true
}

// join returns the instructions without the blocks that no branch targets.
func (w *flow) join() []step {
	targeted := make([]bool, len(w.steps))
	for _, list := range w.targets {
		for _, at := range list {
			if at >= 0 {
				targeted[at] = true
			}
		}
	}
	skip := make([]bool, len(w.steps))
	for i, s := range w.steps {
		if s.is(opBlock, 0x40) && !targeted[i] {
			skip[i], skip[w.closing[i]] = true, true
		}
	}
	var out []step
	var open []int
	depth := func(target int) uint64 {
		for d := range open {
			if open[len(open)-1-d] == target {
				return uint64(d)
			}
		}
		return uint64(len(open))
	}
	for i, s := range w.steps {
		switch {
		case skip[i]:
			continue
		case w.closing[i] > i:
			open = append(open, i)
		case s.op == end && len(open) > 0:
			open = open[:len(open)-1]
		case s.op == opBr || s.op == opBrIf:
			s = with(s.op, depth(w.targets[i][0]))
		case s.op == opBrTable:
			text := binary.AppendUvarint([]byte{opBrTable}, uint64(len(w.targets[i])-1))
			for _, target := range w.targets[i] {
				text = binary.AppendUvarint(text, depth(target))
			}
			s.text = text
		}
		out = append(out, s)
	}
	return out
}

func (s step) is(text ...byte) bool { return string(s.text) == string(text) }
