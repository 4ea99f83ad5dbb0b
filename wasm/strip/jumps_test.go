package strip

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// table is the start of a function: a loop with three blocks, numbered 0, 1 and 2, and
// the br_table. The function declares no locals besides its parameters.
var table = []byte{
	0,
	opLoop, 0x40, opBlock, 0x40, opBlock, 0x40, opBlock, 0x40,
	opLocalGet, 0, opBrTable, 2, 0, 1, 2, end,
}

// to returns a jump to a basic block. out is the depth of the loop at the jump.
func to(block, out byte) []byte { return []byte{i32Const, block, opLocalSet, 0, opBr, out} }

func TestJumps(t *testing.T) {
	const nop, drop = 0x01, 0x1a
	code := func(parts ...[]byte) []byte { return bytes.Join(append([][]byte{table}, parts...), nil) }
	open := func(op byte) []byte { return []byte{op, 0x40} }
	ends := func(n int) []byte { return bytes.Repeat([]byte{end}, n) }
	branch := func(out byte) []byte { return []byte{opBr, out} }
	// withoutLoop replaces the loop of the code with a block.
	withoutLoop := func(code []byte) []byte {
		code = bytes.Clone(code)
		code[1] = opBlock
		return code
	}
	for name, c := range map[string]struct{ was, is []byte }{
		"forward": {
			was: code(to(1, 2), ends(1), to(2, 1), ends(3)),
			is:  withoutLoop(code(branch(0), ends(1), branch(0), ends(3))),
		},
		"over a block, out of a condition": {
			was: code([]byte{i32Const, 1}, open(opIf), to(2, 3), ends(1), ends(4)),
			is:  withoutLoop(code([]byte{i32Const, 1}, open(opIf), branch(2), ends(1), ends(4))),
		},
		"forward and back": {
			was: code(to(2, 2), ends(1), to(0, 1), ends(3)),
			is:  code(branch(1), ends(1), to(0, 1), ends(3)),
		},
		"to itself":                        {was: code(ends(1), to(1, 1), ends(3))},
		"a number from somewhere else":     {was: code(to(1, 2), []byte{i32Const, 1, opLocalSet, 0, nop, opBr, 2}, ends(4))},
		"the number is looked at":          {was: code(to(1, 2), []byte{opLocalGet, 0, drop}, ends(4))},
		"the loop starts on a condition":   {was: code(to(1, 2), []byte{i32Const, 1, opLocalSet, 0, i32Const, 1, opBrIf, 2}, ends(4))},
		"the loop starts by another table": {was: code(to(1, 2), []byte{i32Const, 1, opBrTable, 1, 2, 1}, ends(4))},
		"no table":                         {was: []byte{0, opLoop, 0x40, opBlock, 0x40, i32Const, 1, opLocalSet, 0, opBr, 1, end, end, end}},
		"an instruction that is not known": {was: code(to(1, 2), []byte{0xfb, 0, 1}, ends(4))},
		"another local":                    {was: code([]byte{i32Const, 1, opLocalSet, 3, opBr, 2}, ends(4))},
	} {
		t.Run(name, func(t *testing.T) {
			if c.is == nil {
				c.is = c.was
			}
			got, err := branchForward(section10(c.was))
			require.NoError(t, err)
			require.Equal(t, section10(c.is), got)
			again, err := branchForward(got)
			require.NoError(t, err)
			require.Equal(t, got, again)
		})
	}
}

// section10 returns the content of a code section (ID 10) with one short function.
func section10(code []byte) []byte { return append([]byte{1, byte(len(code))}, code...) }

func TestJumpsOfAProgram(t *testing.T) {
	m, err := parse(linked(t))
	require.NoError(t, err)
	was := codeOf(m)
	is, err := branchForward(was)
	require.NoError(t, err)
	require.Less(t, len(is), len(was)*98/100)
}

// Damaged code is rejected, or parsed as other code, but never causes a panic.
func TestDamagedCodeDoesNotPanic(t *testing.T) {
	m, err := parse(linked(t))
	require.NoError(t, err)
	code := codeOf(m)
	random := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for range 100 {
		damaged := bytes.Clone(code)
		for range 1 + random.IntN(50) {
			damaged[random.IntN(len(damaged))] = byte(random.Uint32())
		}
		if _, err := branchForward(damaged); err != nil {
			refused++
		}
	}
	require.NotZero(t, refused)
}

func codeOf(m *module) []byte {
	for _, s := range m.sections {
		if s.id == codeSection {
			return s.content
		}
	}
	return nil
}
