package strip

import (
	"encoding/binary"
	"fmt"
)

// WebAssembly has no general jump, so Go compiles a function to one loop around all of
// its basic blocks. A table at the top branches to the block whose number is in the first
// local. A jump sets that number and restarts the loop. A WebAssembly engine compiles the
// jumps literally. Every jump goes through the table and the check of each loop
// iteration, and few values stay in registers between blocks.
//
// A basic block starts where a WebAssembly block ends. At a jump to a later basic block,
// the WebAssembly block that ends where the later one starts is still open. A branch out
// of that WebAssembly block reaches the same basic block. Forward jumps become branches,
// and a loop without other jumps becomes a block. Backward jumps stay. The table also
// stays, because a suspended function resumes through it.

const codeSection = 10

// The instructions that the package interprets.
const (
	opBlock    = 0x02
	opLoop     = 0x03
	opIf       = 0x04
	opBr       = 0x0c
	opBrIf     = 0x0d
	opBrTable  = 0x0e
	opLocalGet = 0x20
	opLocalSet = 0x21
	i64Const   = 0x42
)

func (m *module) branchForward() (err error) {
	for i := range m.sections {
		if s := &m.sections[i]; s.id == codeSection && err == nil {
			s.content, err = branchForward(s.content)
		}
	}
	return err
}

// branchForward returns a code section with branches instead of forward jumps in all
// functions.
func branchForward(section []byte) ([]byte, error) {
	r := &reader{rest: section}
	functions := r.vectorLength()
	out := binary.AppendUvarint(nil, functions)
	for i := range functions {
		code := r.bytes(r.unsigned())
		if r.err != nil {
			return nil, r.err
		}
		f := &body{reader: reader{rest: code}, code: code}
		if f.read(); f.err != nil {
			return nil, fmt.Errorf("function %d of the module: %w", i, f.err)
		}
		code = f.rewrite()
		out = append(binary.AppendUvarint(out, uint64(len(code))), code...)
	}
	return out, r.err
}

// body parses the code of a function.
type body struct {
	reader
	code  []byte
	open  []construct
	count int            // number of instructions read
	last  [2]instruction // the last two instructions read, the newest at the end

	// loop is the offset in the code of the loop around all basic blocks, and entry is the
	// index of this loop in open. blocks is the number of blocks between that loop and the
	// table. All three are zero until the table is found.
	loop, entry, blocks int
	table               []uint64 // by basic block: the depth of the construct to leave; the last element is for all other numbers
	jumps               []jump
	loops               bool // there is a backward jump
	// strange marks a function that must stay unmodified. Such a function restarts the loop
	// or reads the block number in an unknown way, or contains an unknown instruction.
	strange bool
}

// construct is a block, a loop or an if. A branch leaves a construct, or restarts a loop.
type construct struct {
	op     byte
	at     int // offset in the code
	number int // index of its instruction
}

type instruction struct {
	op      byte
	at      int
	operand uint64
}

// jump is a forward jump: the range of its three instructions in the code, and the depth
// of the branch that can replace them.
type jump struct{ from, to, depth int }

func (f *body) read() {
	for range f.vectorLength() { // locals of a type
		f.unsigned()
		f.byte()
	}
	f.open = []construct{{}} // the function itself
	for f.err == nil && len(f.open) > 0 {
		f.instruction()
	}
	if len(f.rest) > 0 {
		f.fail("its code continues after its end")
	}
}

func (f *body) instruction() {
	i := instruction{at: len(f.code) - len(f.rest), op: f.byte()}
	switch i.op {
	case opBlock, opLoop, opIf:
		f.unsigned() // its type
		f.open = append(f.open, construct{i.op, i.at, f.count})
	case end:
		f.open = f.open[:len(f.open)-1]
	case opBr, opBrIf:
		i.operand = f.unsigned()
		f.branch(i)
	case opBrTable:
		f.branchTable()
	case opLocalGet:
		i.operand = f.unsigned()
		f.strange = f.strange || f.entry > 0 && i.operand == 0
	case opLocalSet, i32Const:
		i.operand = f.unsigned() // no block has a negative number
	case i64Const:
		for f.byte() >= 0x80 {
		}
	default:
		f.operands(i.op)
	}
	f.last = [2]instruction{f.last[1], i}
	f.count++
}

// branchTable parses a br_table. The table at the top of the function is the first
// br_table that branches on the first local, directly after the starts of the loop and
// its blocks.
func (f *body) branchTable() {
	var table []uint64
	for range f.vectorLength() + 1 {
		if table = append(table, f.unsigned()); f.err != nil {
			return
		}
	}
	if f.entry > 0 {
		for _, depth := range table {
			f.strange = f.strange || f.reaches(depth) == f.entry
		}
		return
	}
	if f.last[1].op != opLocalGet || f.last[1].operand != 0 {
		return
	}
	blocks := 0
	for at := len(f.open) - 1; at > 0 && f.open[at].number == f.count-2-blocks; at-- {
		if f.open[at].op == opLoop && blocks > 0 {
			f.loop, f.entry, f.blocks, f.table = f.open[at].at, at, blocks, table
		}
		if f.open[at].op != opBlock {
			return
		}
		blocks++
	}
}

// reaches returns the index in open of the construct that a branch leaves or restarts, or
// -1 if the code is invalid.
func (f *body) reaches(depth uint64) int {
	if depth >= uint64(len(f.open)) {
		f.fail("a branch leaves more constructs than exist")
		return -1
	}
	return len(f.open) - 1 - int(depth)
}

// branch examines a branch instruction. If the instruction restarts the loop, branch
// records a forward jump, a backward jump or a strange function.
func (f *body) branch(i instruction) {
	if at := f.reaches(i.operand); f.entry == 0 || at != f.entry {
		return
	}
	number, set := f.last[0], f.last[1]
	if i.op != opBr || number.op != i32Const || set.op != opLocalSet || set.operand != 0 {
		f.strange = true
		return
	}
	// An entry of the table is the depth of the block that the branch leaves. Zero
	// means the innermost block.
	leave := f.table[min(number.operand, uint64(len(f.table)-1))]
	at := f.entry + f.blocks - int(min(leave, uint64(f.blocks)))
	if at == f.entry || at >= len(f.open) || f.open[at].number != f.open[f.entry].number+at-f.entry {
		f.loops = true
		return
	}
	f.jumps = append(f.jumps, jump{number.at, len(f.code) - len(f.rest), len(f.open) - 1 - at})
}

// operands skips the operands of an instruction that this package does not interpret.
func (f *body) operands(op byte) {
	switch {
	case op == 0x43: // f32.const
		f.bytes(4)
	case op == 0x44: // f64.const
		f.bytes(8)
	case op == 0x11 || 0x28 <= op && op <= 0x3e: // call_indirect, loads and stores
		f.unsigned()
		f.unsigned()
	case op == 0x10 || 0x20 <= op && op <= 0x24 || op == 0x3f || op == 0x40: // call, variables, memory.size, memory.grow
		f.unsigned()
	case op == 0xfc:
		switch f.unsigned() {
		case 0, 1, 2, 3, 4, 5, 6, 7: // conversions
		case 10: // memory.copy
			f.bytes(2)
		case 11: // memory.fill
			f.bytes(1)
		default:
			f.skip()
		}
	case op <= 0x01 || op == 0x05 || op == 0x0f || op == 0x1a || op == 0x1b || 0x45 <= op && op <= 0xc4:
	default:
		f.skip()
	}
}

// skip stops parsing at an instruction of unknown length, and marks the function as
// strange.
func (f *body) skip() {
	f.strange, f.open, f.rest = true, nil, nil
}

// rewrite returns the code with branches instead of forward jumps.
func (f *body) rewrite() []byte {
	if f.strange || f.entry == 0 {
		return f.code
	}
	var out []byte
	copied := 0
	for _, j := range f.jumps {
		out = append(append(out, f.code[copied:j.from]...), opBr)
		out = binary.AppendUvarint(out, uint64(j.depth))
		copied = j.to
	}
	out = append(out, f.code[copied:]...)
	if !f.loops {
		out[f.loop] = opBlock
	}
	return out
}
