package strip

import "encoding/binary"

// WebAssembly has vector instructions for sixteen bytes, but Go's compiler does not use
// them. This file therefore contains vector code for the functions that process most bytes
// of a document, and of the search texts of rows. The vector code replaces the compiled
// code. The tests run both versions on the same bytes and compare the results.
var vectorized = map[string]code{
	"memchr": memchr(), // implements bytes.IndexByte
	"github.com/watchglass/watchglass/core/objectjson.(*Span).words": words(),
	"github.com/watchglass/watchglass/core/query.pairAt":             pairAt(),
}

// vectorize replaces the code of functions. The map codes contains the new code, by
// function number; total is the expected number of functions in the module.
func (m *module) vectorize(codes map[uint64]code, total int) error {
	for i := range m.sections {
		s := &m.sections[i]
		if s.id != codeSection {
			continue
		}
		r := &reader{rest: s.content}
		functions := r.vectorLength()
		if functions != uint64(total) {
			return unknown("the module has %d functions and entries for %d", functions, total)
		}
		out := binary.AppendUvarint(nil, functions)
		for number := range functions {
			content := r.bytes(r.unsigned())
			if other, ok := codes[number]; ok {
				content = other
			}
			out = append(binary.AppendUvarint(out, uint64(len(content))), content...)
		}
		if r.err != nil {
			return r.err
		}
		s.content = out
	}
	return nil
}

// memchr returns the code of a function with C's calling convention. That function
// returns the address of the first byte with a given value in a block of memory, or zero.
// Most blocks are short, so the function loads a remainder of fewer than sixteen bytes
// together with the bytes that follow, unless the memory ends earlier.
func memchr() code {
	const at, char, end, marks, chars = 0, 1, 2, 3, 4
	left := i32(sub, get(end), get(at))
	mark := set(marks, bitmask(equal(load16(at, 0), get(chars))))
	found := i32(add, get(at), i32(ctz, get(marks)))
	return routine(1, 1,
		set(end, i32(add, get(at), get(end))), // before, end was the length
		set(chars, splat(get(char))),
		block(loop(
			branchIf(1, i32(below, left, number(16))),
			mark,
			when(get(marks), found, leave),
			set(at, i32(add, get(at), number(16))),
			branch(0),
		)),
		when(i32(above, memorySize, i32(shr, i32(add, get(at), number(15)), number(16))),
			mark,
			set(marks, i32(and, get(marks), i32(sub, i32(shl, number(1), left), number(1)))),
			whenElse(get(marks), join(found, leave), join(number(0), leave)),
		),
		loop(
			when(i32(same, get(at), get(end)), number(0), leave),
			when(i32(same, load1(at, 0), get(char)), get(at), leave),
			set(at, i32(add, get(at), number(1))),
			branch(0),
		),
		number(0), // never reached, but validation requires a result
	)
}

// words returns the code of a function with Go's calling convention. Arguments and
// results are on a stack in memory, after the return address, which the callee removes.
// The WebAssembly result is zero, because the function is never suspended.
func words() code {
	const (
		resume  = iota // the resume point of a suspended function
		stack          // address of the stack
		span           // address of the Span
		at             // address of the bytes
		last           // address of the last sixteen bytes
		depth          // of brackets
		quoted         // all bits are set if the previous bytes ended inside a string
		escaped        // lowest bit: whether the previous bytes ended in an unescaped backslash
		// A bit for each byte:
		backslash
		inside // a string
		opening
		closing
		brackets
		rows // of backslashes
		// Vectors:
		bytes
		backslashes
		quotes
		blanks
		opens
		closes

		locals, vectors = bytes - 1, closes - bytes + 1
	)
	const returnSize, argSpan, argBytes, argLength, argAt, resultEnd, resultComplete = 8, 8, 16, 24, 40, 48, 56
	const fieldDepth, fieldQuoted, fieldEscaped = 0, 8, 9
	const oddBits = ^0x55555555
	outside := func(marks code) code { return i32(and, marks, not(get(inside))) }
	return routine(locals, vectors,
		set(stack, stackPointer),
		set(span, load4(stack, argSpan)),
		set(at, i32(add, load4(stack, argBytes), load4(stack, argAt))),
		set(last, i32(sub, i32(add, load4(stack, argBytes), load4(stack, argLength)), number(16))),
		set(depth, load4(span, fieldDepth)),
		set(quoted, i32(sub, number(0), load1(span, fieldQuoted))),
		set(escaped, load1(span, fieldEscaped)),
		set(backslashes, splat(number('\\'))),
		set(quotes, splat(number('"'))),
		set(blanks, splat(number(' '))),
		set(opens, splat(number('{'))),
		set(closes, splat(number('}'))),
		block(loop(
			branchIf(1, i32(above, get(at), get(last))),
			set(bytes, load16(at, 0)),

			// In a run of backslashes, every other one is escaped. If the run begins at
			// an even position, the escaped ones are at odd positions, and otherwise at
			// even ones. The subtraction clears a run that begins at an odd position and
			// keeps any other; then the odd bits are inverted. The bit after a run shows
			// whether the byte there is escaped.
			set(backslash, bitmask(equal(get(bytes), get(backslashes)))),
			set(rows, i32(and, get(backslash), not(get(escaped)))),
			set(rows, i32(xor, number(oddBits), i32(sub, i32(or, number(oddBits), i32(shl, get(rows), number(1))), get(rows)))),
			set(inside, i32(and, bitmask(equal(get(bytes), get(quotes))), not(i32(xor, get(rows), i32(or, get(backslash), get(escaped)))))),
			set(escaped, i32(shr, i32(and, get(rows), get(backslash)), number(15))),

			// A byte is inside a string if the number of quotes up to it is odd.
			set(inside, i32(xor, get(inside), i32(shl, get(inside), number(1)))),
			set(inside, i32(xor, get(inside), i32(shl, get(inside), number(2)))),
			set(inside, i32(xor, get(inside), i32(shl, get(inside), number(4)))),
			set(inside, i32(xor, get(inside), i32(shl, get(inside), number(8)))),
			set(inside, i32(xor, get(inside), get(quoted))),
			set(quoted, i32(sar, i32(shl, get(inside), number(16)), number(31))),

			set(bytes, either(get(bytes), get(blanks))), // converts a bracket to a brace
			set(opening, outside(bitmask(equal(get(bytes), get(opens))))),
			set(closing, outside(bitmask(equal(get(bytes), get(closes))))),
			whenElse(i32(less, i32(popcnt, get(closing)), get(depth)),
				set(depth, i32(sub, i32(add, get(depth), i32(popcnt, get(opening))), i32(popcnt, get(closing)))),
				join( // The end may be here: process one bracket after the other.
					set(brackets, i32(or, get(opening), get(closing))),
					block(loop(
						branchIf(1, i32(zero, get(brackets))),
						whenElse(i32(and, i32(shr, get(closing), i32(ctz, get(brackets))), number(1)),
							set(depth, i32(sub, get(depth), number(1))),
							set(depth, i32(add, get(depth), number(1))),
						),
						when(i32(zero, get(depth)),
							set(at, i32(add, i32(add, get(at), i32(ctz, get(brackets))), number(1))),
							branch(5), // out of all constructs
						),
						set(brackets, i32(and, get(brackets), i32(sub, get(brackets), number(1)))),
						branch(0),
					)),
				),
			),
			set(at, i32(add, get(at), number(16))),
			branch(0),
		)),
		store8(span, fieldDepth, get(depth)),
		store1(span, fieldQuoted, i32(and, get(quoted), number(1))),
		store1(span, fieldEscaped, get(escaped)),
		store8(stack, resultEnd, i32(sub, get(at), load4(stack, argBytes))),
		store1(stack, resultComplete, i32(zero, get(depth))),
		setStackPointer(i32(add, get(stack), number(returnSize))),
		number(0),
	)
}

// pairAt returns the code of a function with Go's calling convention, like words. Its
// arguments are a text, the index at which the search begins, and the two bytes. Its result
// is the index of the first byte, or -1. Vectors contain only bytes of the text, so the last
// vector may overlap the previous one. A text of less than seventeen bytes is searched
// without vectors.
func pairAt() code {
	const (
		resume = iota // the resume point of a suspended function
		stack         // address of the stack
		text          // address of the text
		at            // address of the next sixteen pairs
		last          // address of the last sixteen pairs
		marks         // a bit for each pair that is found
		// Vectors:
		firsts
		seconds

		locals, vectors = firsts - 1, seconds - firsts + 1
	)
	const returnSize, argText, argLength, argFrom, argFirst, argSecond, result = 8, 8, 16, 32, 40, 41, 48
	pairs := func(at byte) code {
		return i32(and, bitmask(equal(load16(at, 0), get(firsts))), bitmask(equal(load16(at, 1), get(seconds))))
	}
	finish := func(index code) code {
		return join(
			storeSigned8(stack, result, index),
			setStackPointer(i32(add, get(stack), number(returnSize))),
			number(0), leave,
		)
	}
	return routine(locals, vectors,
		set(stack, stackPointer),
		set(text, load4(stack, argText)),
		set(at, i32(add, get(text), load4(stack, argFrom))),
		set(last, i32(sub, i32(add, get(text), load4(stack, argLength)), number(17))),
		set(firsts, splat(load1(stack, argFirst))),
		set(seconds, splat(load1(stack, argSecond))),
		block(loop(
			branchIf(1, i32(above, get(at), get(last))),
			set(marks, pairs(at)),
			when(get(marks), finish(i32(add, i32(sub, get(at), get(text)), i32(ctz, get(marks))))),
			set(at, i32(add, get(at), number(16))),
			branch(0),
		)),
		when(i32(below, get(last), get(text)),
			loop(
				when(i32(above, get(at), i32(add, get(last), number(15))), finish(number(-1))),
				when(i32(and, i32(same, load1(at, 0), load1(stack, argFirst)), i32(same, load1(at, 1), load1(stack, argSecond))),
					finish(i32(sub, get(at), get(text))),
				),
				set(at, i32(add, get(at), number(1))),
				branch(0),
			),
		),
		// The pairs before at were searched already.
		set(marks, i32(and, pairs(last), i32(shl, number(-1), i32(sub, get(at), get(last))))),
		when(get(marks), finish(i32(add, i32(sub, get(last), get(text)), i32(ctz, get(marks))))),
		finish(number(-1)),
		number(0), // never reached, but validation requires a result
	)
}
