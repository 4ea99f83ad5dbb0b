package strip

import "encoding/binary"

// Go's compiler translates each operation independently. Some sequences of instructions
// have a shorter form with the same effect. No branch leads into the middle of a
// sequence, because WebAssembly branches target only the start or end of a block.

// Instructions for use in patterns. An instruction without operands matches any
// operands.
var (
	getStack   = plain(opLocalGet, 1) // local 1 of a Go function is a copy of the stack pointer
	teeStack   = plain(0x22, 1)
	setStack   = plain(0x24, 0)
	anyNumber  = plain(i32Const)
	anyLong    = plain(i64Const)
	addNumber  = plain(add)
	addLong    = plain(0x7c)
	widen      = plain(0xad) // i64.extend_i32_u
	narrow     = plain(0xa7) // i32.wrap_i64
	longIsZero = plain(0x50)
	isZero     = plain(zero)
	anyIf      = plain(opIf)
	anyBranch  = plain(opBr)
	ended      = plain(end)
	returns    = plain(0x0f)
	anyGet     = plain(opLocalGet)
	anySet     = plain(opLocalSet)
)

// rule returns a replacement for the first n instructions, or n = 0 if it does not
// apply.
type rule func(s []step) (replacement []step, n int)

var rules = []rule{
	// An address on the stack is computed with 32 bits instead of 64.
	func(s []step) ([]step, int) {
		if begins(s, widen, anyLong, addLong, narrow) && s[1].constant() == int64(int32(s[1].constant())) {
			return []step{{i32Const, append([]byte{i32Const}, s[1].text[1:]...)}, addNumber}, 4
		}
		return nil, 0
	},
	func(s []step) ([]step, int) {
		if begins(s, widen, narrow) {
			return nil, 2
		}
		return nil, 0
	},
	// Negating a boolean does not require converting it to 64 bits.
	func(s []step) ([]step, int) {
		if begins(s, longIsZero, widen, longIsZero) {
			return []step{longIsZero, isZero}, 3
		}
		return nil, 0
	},
	func(s []step) ([]step, int) {
		if begins(s, anyIf, anyBranch, ended) && s[1].operand() > 0 {
			return []step{with(opBrIf, s[1].operand()-1)}, 3
		}
		return nil, 0
	},
	func(s []step) ([]step, int) {
		if begins(s, plain(0x01)) {
			return nil, 1
		}
		return nil, 0
	},
	func(s []step) ([]step, int) {
		if begins(s, anyGet, anySet) && s[0].operand() == s[1].operand() {
			return nil, 2
		}
		return nil, 0
	},
}

// peephole returns the instructions of a function with the rules applied.
func peephole(steps []step) []step {
	var out []step
next:
	for len(steps) > 0 {
		for _, r := range rules {
			if replacement, n := r(steps); n > 0 {
				out, steps = append(out, replacement...), steps[n:]
				continue next
			}
		}
		out, steps = append(out, steps[0]), steps[1:]
	}
	return foldOffsets(out)
}

// foldOffsets moves the addition of a constant to the stack pointer into the offset of
// the load or store that uses the sum. The address of a stack is far below 4 GiB, so
// the sum does not overflow.
func foldOffsets(steps []step) []step {
	var out []step
	offsets := make(map[int]uint64) // offset to add, by index of the load or store
	for i := 0; i < len(steps); i++ {
		s := steps[i]
		if n, ok := offsets[i]; ok {
			s = s.offsetBy(n)
		}
		out = append(out, s)
		if !begins(steps[i:], getStack, anyNumber, addNumber) {
			continue
		}
		if user := userOf(steps, i+3); user > 0 && steps[i+1].constant() >= 0 && steps[i+1].constant() < 1<<20 {
			offsets[user] = uint64(steps[i+1].constant())
			i += 2
		}
	}
	return out
}

// offsetBy returns a load or store with n added to its offset.
func (s step) offsetBy(n uint64) step {
	offset, _ := binary.Uvarint(s.text[2:])
	return step{s.op, binary.AppendUvarint([]byte{s.op, s.text[1]}, offset+n)}
}

// userOf returns the index of the load or store whose address is the topmost operand
// before instruction "from", or zero if it finds none.
func userOf(steps []step, from int) int {
	above := 0 // operands above the address
	for i := from; i < len(steps); i++ {
		op := steps[i].op
		switch {
		case op == opLocalGet || op == 0x23 || op == i32Const || op == i64Const || op == 0x43 || op == 0x44:
			above++
		case 0x28 <= op && op <= 0x35: // loads
			if above == 0 {
				return i
			}
		case 0x36 <= op && op <= 0x3e: // stores
			if above == 1 {
				return i
			}
			return 0
		// Instructions with one operand.
		case op == 0x45 || op == 0x50 || 0x67 <= op && op <= 0x69 || 0x79 <= op && op <= 0x7b || 0x8b <= op && op <= 0x91 || 0x99 <= op && op <= 0x9f || 0xa7 <= op && op <= 0xc4 || op == 0x22:
			if above == 0 { // an operation on the address itself
				return 0
			}
		case 0x46 <= op && op <= 0xa6: // with two operands
			if above--; above <= 0 {
				return 0
			}
		default:
			return 0
		}
	}
	return 0
}
