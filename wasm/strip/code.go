package strip

import "encoding/binary"

// code is a sequence of instructions. The functions in this file combine instructions
// into expressions. Operands precede the instruction, as WebAssembly requires.
type code []byte

// Instructions for 32-bit integers.
const (
	zero   = 0x45
	same   = 0x46
	less   = 0x48 // signed
	below  = 0x49 // unsigned less
	above  = 0x4b // unsigned greater
	ctz    = 0x68
	popcnt = 0x69
	add    = 0x6a
	sub    = 0x6b
	and    = 0x71
	or     = 0x72
	xor    = 0x73
	shl    = 0x74
	sar    = 0x75
	shr    = 0x76
)

func i32(op byte, operands ...code) code { return append(join(operands...), op) }

func not(value code) code { return i32(xor, value, number(-1)) }

func number(n int) code {
	c := code{i32Const}
	for ; n < -1<<6 || n >= 1<<6; n >>= 7 {
		c = append(c, byte(n)|0x80)
	}
	return append(c, byte(n)&0x7f)
}

// Instructions for vectors of sixteen bytes.

func splat(value code) code   { return vector(0x0f, value) } // copies a byte to all lanes
func equal(a, b code) code    { return vector(0x23, a, b) }
func either(a, b code) code   { return vector(0x50, a, b) }  // or
func bitmask(value code) code { return vector(0x64, value) } // the highest bit of each byte, as a number

func vector(op byte, operands ...code) code { return append(join(operands...), 0xfd, op) }

// Locals are identified by number, beginning with the parameters.

func get(local byte) code             { return code{opLocalGet, local} }
func set(local byte, value code) code { return join(value, code{opLocalSet, local}) }

// Loads and stores add a constant offset to the address in a local. They assume no
// alignment. load1 zero-extends a byte, store8 zero-extends a 32-bit value, and storeSigned8
// sign-extends it.

func load1(local, offset byte) code  { return code{opLocalGet, local, 0x2d, 0, offset} }
func load4(local, offset byte) code  { return code{opLocalGet, local, 0x28, 0, offset} }
func load16(local, offset byte) code { return code{opLocalGet, local, 0xfd, 0, 0, offset} }

func store1(local, offset byte, value code) code {
	return join(get(local), value, code{0x3a, 0, offset})
}

func store4(local, offset byte, value code) code {
	return join(get(local), value, code{0x36, 0, offset})
}

func store8(local, offset byte, value code) code {
	return join(get(local), value, code{0xad, 0x37, 0, offset})
}

func storeSigned8(local, offset byte, value code) code {
	return join(get(local), value, code{0xac, 0x37, 0, offset})
}

// The first global is Go's stack pointer.
var stackPointer = code{0x23, 0}

func setStackPointer(value code) code { return join(value, code{0x24, 0}) }

// memorySize is the instruction that returns the size of the memory, in pages of 64 KiB.
var memorySize = code{0x3f, 0}

// routine returns the code of a function with the given numbers of additional locals:
// first integers, then vectors.
func routine(numbers, vectors byte, parts ...code) code {
	return join(code{2, numbers, 0x7f, vectors, 0x7b}, join(parts...), code{end})
}

var leave = code{0x0f}

func block(parts ...code) code { return enclose(opBlock, parts...) }
func loop(parts ...code) code  { return enclose(opLoop, parts...) }

func when(condition code, parts ...code) code { return join(condition, enclose(opIf, parts...)) }

func whenElse(condition, then, otherwise code) code {
	return when(condition, then, code{0x05}, otherwise)
}

// enclose returns a block, loop or if that has no result.
func enclose(op byte, parts ...code) code { return join(code{op, 0x40}, join(parts...), code{end}) }

// branch returns a branch that leaves the construct at the given depth, or restarts it
// if it is a loop.
func branch(depth uint64) code { return binary.AppendUvarint(code{opBr}, depth) }

func branchIf(depth uint64, condition code) code {
	return binary.AppendUvarint(join(condition, code{opBrIf}), depth)
}

func join(parts ...code) code {
	var all code
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}
