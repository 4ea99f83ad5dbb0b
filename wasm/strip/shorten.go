package strip

import "encoding/binary"

// shorten rewrites the code of all functions into fewer bytes with the same effect. The
// parameter names contains the names of the functions, by number.
func (m *module) shorten(t *tables, names []string) error {
	calls, err := m.addCold(names)
	if err != nil {
		return err
	}
	addresses := m.words()
	return m.eachFunction(func(number int, content []byte) []byte {
		locals, steps := split(content)
		if steps == nil || number >= len(names) {
			return content
		}
		f := t.function(t.entries[number])
		steps = t.shareAddresses(t.entries[number], coldCalls(steps, calls))
		w := newFlow(peephole(steps))
		if w.leaveAtOnce() {
			w.thin(f, addresses)
		}
		return assemble(locals, w.join())
	})
}

// words returns the set of 64-bit words in the data. Some words are return addresses.
func (m *module) words() map[uint64]bool {
	all := make(map[uint64]bool)
	for at := 0; at+8 <= len(m.memory); at += 8 {
		all[binary.LittleEndian.Uint64(m.memory[at:])] = true
	}
	return all
}

// shareAddresses makes calls that never return share a return address, if the runtime's
// tables contain the same values for the original addresses. The parameter at is the
// address of the function's entry. The runtime uses the return address of such a call
// only to find the pointers in a frame.
func (t *tables) shareAddresses(at uint64, steps []step) []step {
	f := t.function(at)
	var values [][]int64
	for _, offset := range t.pcTables(at, f) {
		values = append(values, t.pcValues(offset))
	}
	// The runtime looks up the return address itself or the address before it.
	same := func(a, b int64) bool {
		for _, v := range values {
			if get := func(i int64) int64 { return v[min(max(i, 0), int64(len(v)-1))] }; len(v) > 0 && (get(a) != get(b) || get(a-1) != get(b-1)) {
				return false
			}
		}
		return true
	}
	first := int64(f.Number) << 16
	for i, s := range steps {
		if !begins(steps[i:], endlessCall...) || s.constant()>>16 != int64(f.Number) {
			continue
		}
		number := s.constant() - first
		for other := int64(1); other < number; other++ {
			if same(other, number) {
				steps[i] = step{i64Const, number64(first + other)}
				break
			}
		}
	}
	return steps
}

// maxNumber is greater than the number of every block of a function.
const maxNumber = 1 << 16

func number64(n int64) []byte {
	c := number(int(n))
	c[0] = i64Const
	return c
}

// pcValues returns the values of the table at an offset into PCs, indexed by the program
// counter within the function. It returns nil if there is no table.
func (t *tables) pcValues(offset uint32) (list []int64) {
	if offset == 0 {
		return nil
	}
	rest := t.memory[t.PCs.Data:][:t.PCs.Len][offset:]
	for value, first := int64(-1), true; ; first = false {
		change, n := binary.Varint(rest)
		if change == 0 && !first {
			return list
		}
		count, k := binary.Uvarint(rest[n:])
		value += change
		for range min(count, uint64(maxNumber-len(list))) {
			list = append(list, value)
		}
		rest = rest[n+k:]
	}
}
