package strip

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPeephole(t *testing.T) {
	load, store := []byte{0x29, 3, 8}, []byte{0x37, 3, 16}
	cases := map[string]struct{ from, to []byte }{
		"an address on the stack":      {[]byte{0x20, 2, 0xad, i64Const, 8, 0x7c, 0xa7}, []byte{0x20, 2, i32Const, 8, add}},
		"an address beyond 32 bits":    {[]byte{0xad, i64Const, 0x80, 0x80, 0x80, 0x80, 8, 0x7c, 0xa7}, []byte{0xad, i64Const, 0x80, 0x80, 0x80, 0x80, 8, 0x7c, 0xa7}},
		"widened in vain":              {[]byte{0x20, 1, 0xad, 0xa7}, []byte{0x20, 1}},
		"a negated comparison":         {[]byte{0x50, 0xad, 0x50}, []byte{0x50, 0x45}},
		"a branch under a condition":   {[]byte{opIf, 0x40, opBr, 3, end}, []byte{opBrIf, 2}},
		"a branch out of the if":       {[]byte{opIf, 0x40, opBr, 0, end}, []byte{opIf, 0x40, opBr, 0, end}},
		"no operation":                 {[]byte{0x01, 0x20, 1}, []byte{0x20, 1}},
		"a copy to itself":             {[]byte{0x20, 3, 0x21, 3}, nil},
		"a copy":                       {[]byte{0x20, 3, 0x21, 4}, []byte{0x20, 3, 0x21, 4}},
		"the offset of a load":         {cat([]byte{0x20, 1, i32Const, 8, add}, load), []byte{0x20, 1, 0x29, 3, 16}},
		"the offset of a store":        {cat([]byte{0x20, 1, i32Const, 8, add, 0x20, 2}, store), []byte{0x20, 1, 0x20, 2, 0x37, 3, 24}},
		"a store of a loaded value":    {cat([]byte{0x20, 1, i32Const, 8, add, 0x20, 2, 0xa7}, load, store), cat([]byte{0x20, 1, 0x20, 2, 0xa7}, load, []byte{0x37, 3, 24})},
		"a store of a sum":             {cat([]byte{0x20, 1, i32Const, 8, add, 0x20, 2, 0x20, 3, 0x7c}, store), cat([]byte{0x20, 1, 0x20, 2, 0x20, 3, 0x7c}, []byte{0x37, 3, 24})},
		"a sum as a value":             {cat([]byte{0x20, 2, 0xa7, 0x20, 1, i32Const, 8, add, 0xad}, store), cat([]byte{0x20, 2, 0xa7, 0x20, 1, i32Const, 8, add, 0xad}, store)},
		"a negative offset":            {cat([]byte{0x20, 1, i32Const, 0x78, add}, load), cat([]byte{0x20, 1, i32Const, 0x78, add}, load)},
		"another base than the stack":  {cat([]byte{0x20, 2, i32Const, 8, add}, load), cat([]byte{0x20, 2, i32Const, 8, add}, load)},
		"an address that is also kept": {cat([]byte{0x20, 1, i32Const, 8, add, 0x22, 5}, load), cat([]byte{0x20, 1, i32Const, 8, add, 0x22, 5}, load)},
		"one address in another":       {cat([]byte{0x20, 1, i32Const, 8, add, 0x20, 1, i32Const, 16, add}, load, store), cat([]byte{0x20, 1, 0x20, 1, 0x29, 3, 24}, []byte{0x37, 3, 24})},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, steps := split(cat([]byte{0}, c.from))
			require.NotEmpty(t, steps)
			require.Equal(t, cat([]byte{0}, c.to), assemble([]byte{0}, peephole(steps)))
		})
	}
}

func cat(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// A block that no branch targets is removed, and branches that leave it get a smaller
// depth.
func TestBlocksWithoutBranchesDisappear(t *testing.T) {
	from := []byte{0, opBlock, 0x40, opBlock, 0x40, opBlock, 0x40, 0x20, 0, opBrIf, 2, end, 0x01, end, 0x20, 0, opBrIf, 1, end, end}
	to := []byte{0, opBlock, 0x40, 0x20, 0, opBrIf, 0, 0x01, 0x20, 0, opBrIf, 1, end, end}
	locals, steps := split(from)
	require.Equal(t, to, assemble(locals, newFlow(steps).join()))
}

// If a function that should never return does return, its caller must not continue.
func TestFaultThatReturnsTraps(t *testing.T) {
	tail := []byte{0x10, 7, opIf, 0x40, i32Const, 1, 0x0f, end, 0x00, end}
	code := coldCall{callee: 7, leaves: true}.code()
	require.Equal(t, tail, []byte(code[len(code)-len(tail):]))
	tail = []byte{0x10, 7, end}
	code = coldCall{callee: 7}.code()
	require.Equal(t, tail, []byte(code[len(code)-len(tail):]))
}
