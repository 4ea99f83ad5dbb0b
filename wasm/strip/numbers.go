package strip

import (
	"slices"
)

// The runtime's tables contain the number of each function three times: in the list of
// entries with their addresses, in the entry itself, and in the lookup table. A function
// that runs when the module is instantiated writes these numbers, so the data does not
// contain them.

// numberAtStart adds a start function that writes the numbers. It does nothing if the
// module already has a start function, or if the tables differ from the form that the
// added function assumes.
func (m *module) numberAtStart(t *tables) error {
	if slices.ContainsFunc(m.sections, func(s section) bool { return s.id == startSection }) || !t.regular() {
		return nil
	}
	imports, functions, err := m.functions()
	if err != nil {
		return err
	}
	numbering := t.numbering()
	for i, at := range t.entries {
		clear(t.memory[t.FuncTab.Data+8*uint64(i):][:8])
		clear(t.memory[at:][:4])
		clear(t.memory[t.FindFunc+uint64(i)*functionBuckets*bucketSize:][:4])
	}
	m.start(imports + functions)
	return m.add([]byte{0x60, 0, 0}, []code{numbering})
}

// regular reports whether each entry begins at the first multiple of eight bytes at or
// after the end of the previous entry.
func (t *tables) regular() bool {
	for i, at := range t.entries[1:] {
		f := t.function(t.entries[i])
		if at != (f.funcData(t.entries[i], uint32(f.FuncData))+7)&^7 {
			return false
		}
	}
	return true
}

// numbering returns the code of the start function.
func (t *tables) numbering() code {
	const list, entry, found, left = 0, 1, 2, 3
	const pcDataAt, funcDataAt = 28, 43 // in an entry
	first := t.function(t.entries[0]).Number
	n := len(t.entries)
	return join(code{1, 4, 0x7f},
		set(list, number(int(t.FuncTab.Data))),
		set(entry, number(int(t.entries[0]))),
		set(found, number(int(t.FindFunc))),
		set(left, number(n)),
		loop(
			store4(list, 0, i32(sub, number(int(first)+n), get(left))),
			store4(list, 4, i32(sub, get(entry), number(int(t.Functions.Data)))),
			store4(entry, 0, i32(sub, number(int(first)+n), get(left))),
			store4(found, 0, i32(sub, number(n), get(left))),
			set(list, i32(add, get(list), number(8))),
			set(found, i32(add, get(found), number(functionBuckets*bucketSize))),
			set(entry, i32(and, number(-8), i32(add, i32(add, get(entry), number(functionSize+7)),
				i32(shl, i32(add, load4(entry, pcDataAt), load1(entry, funcDataAt)), number(2))))),
			set(left, i32(sub, get(left), number(1))),
			branchIf(0, get(left)),
		),
		code{end},
	)
}
