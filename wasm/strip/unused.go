package strip

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Go's linker keeps each function that another function may call. The linker cannot
// determine that a condition around a call is never true, or that a stripped module has
// no positions to report. This file lists functions that are called only in these cases.
// dropUnused then follows calls to find further functions that are reachable only
// through the listed ones.

// feature is a part of the runtime that stays off unless the module contains a function
// that uses it.
type feature struct {
	// Names of functions. A name that ends with * is a prefix.
	users, functions []string
}

// tracer is the tracer of the runtime, which runs only after StartTrace. Before each call
// to the tracer, the runtime checks whether the tracer is running.
var tracer = feature{[]string{"runtime.StartTrace"}, []string{"runtime.traceLocker.*", "runtime.traceAcquireEnabled"}}

// quiet lists functions with no results and no useful effect in a stripped module.
var quiet = []feature{
	// These functions print stacks and memory. Without names and positions, a printed stack
	// is empty.
	{nil, []string{
		"runtime.traceback1", "runtime.printAncestorTraceback", "runtime.printcreatedby",
		"runtime.tracebackHexdump", "runtime.hexdumpWords", "runtime.gcDumpObject",
	}},
	// These functions print only with these GODEBUG settings: schedtrace, gctrace=2,
	// scavtrace, checkfinalizers.
	{nil, []string{"runtime.schedtrace", "runtime.dumpScanStats", "runtime.printScavTrace", "runtime.checkFinalizersAndCleanups"}},
	// WebAssembly has no optional processor features that a GODEBUG setting could disable.
	{nil, []string{"internal/cpu.processOptions"}},
	// These functions check tables that the linker wrote, and merge the types of several
	// modules.
	{nil, []string{"runtime.moduledataverify1", "runtime.typelinksinit"}},
	// The functions in the second list record samples that only the functions in the
	// first list read.
	{[]string{"runtime.memProfileInternal", "runtime.blockProfileInternal", "runtime.mutexProfileInternal"}, []string{
		"runtime.mProf_NextCycle", "runtime.mProf_Flush", "runtime.mProf_FlushLocked", "runtime.mProf_PostSweep", "runtime.mProf_Malloc",
		"runtime.mProf_Free", "runtime.profilealloc", "runtime.blockevent", "runtime.saveblockevent",
	}},
	{[]string{"runtime.goroutineProfile*"}, []string{"runtime.tryRecordGoroutineProfile"}},
	// These functions write the events that the tracer has collected.
	{tracer.users, []string{"runtime.traceAdvance", "runtime.traceThreadDestroy"}},
}

// in returns a predicate for function numbers. The predicate is true for the functions of
// the feature, if no function in names uses the feature.
func (f feature) in(names []string) func(number int) bool {
	matches := func(name string, patterns []string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			prefix, ok := strings.CutSuffix(pattern, "*")
			return name == pattern || ok && strings.HasPrefix(name, prefix)
		})
	}
	used := slices.ContainsFunc(names, func(name string) bool { return matches(name, f.users) })
	return func(number int) bool { return !used && matches(names[number], f.functions) }
}

// The code that replaces unused functions (traps) and quiet functions (returnsAtOnce).
var (
	traps         = code{0, 0x00, end}
	returnsAtOnce = join(code{0}, setStackPointer(i32(add, stackPointer, number(8))), number(0), code{end})
)

// dropUnused replaces the code of functions that never run with a trap, and the code of
// quiet functions with a return. The parameter names contains the names of the functions,
// by number.
func (m *module) dropUnused(t *tables, names []string) error {
	returning := make([]bool, len(names))
	for _, f := range quiet {
		for i, in := 0, f.in(names); i < len(names); i++ {
			returning[i] = returning[i] || in(i)
		}
	}
	u, err := m.newUsage(t, tracer.in(names))
	if err != nil || len(u.code) < len(names) {
		return err
	}
	if err := u.follow(m, returning); err != nil || u.strange {
		return err
	}
	return m.eachFunction(func(n int, content []byte) []byte {
		switch {
		case n >= len(names) || u.used[n] && !returning[n]:
			return content
		case returning[n] && u.used[n]:
			content = returnsAtOnce
		default:
			content = traps
		}
		t.dropTables(t.entries[n])
		return content
	})
}

// dropTables removes the tables of a function that is never on a stack.
func (t *tables) dropTables(at uint64) {
	f := t.function(at)
	t.dropInlined(at, f)
	f.SP, f.File, f.Line, f.DeferReturn = 0, 0, 0, 0
	t.write(at, f)
	for kind := range f.PCData {
		t.write(f.pcData(at, kind), uint32(0))
	}
	for kind := range uint32(f.FuncData) {
		t.write(f.funcData(at, kind), none)
	}
}

// usage finds the functions that a module may call. The result may include functions that
// are never called.
type usage struct {
	never   func(number int) bool
	memory  []byte
	imports uint64
	first   uint64   // the number of the first function, as in program counters
	code    [][]byte // of all functions
	used    []bool
	queue   []uint64 // used functions whose code was not read yet
	strange bool     // a used function contains an unknown instruction
	// descriptors is the address of the first function descriptor, and after is the end of
	// the last one. A descriptor is a word with a program counter. Function values without
	// captured variables point to descriptors.
	descriptors, after uint64
}

func (m *module) newUsage(t *tables, never func(number int) bool) (*usage, error) {
	u := &usage{never: never, memory: m.memory, first: uint64(t.function(t.entries[0]).Number), used: make([]bool, len(t.entries))}
	var err error
	if u.imports, _, err = m.functions(); err != nil {
		return nil, err
	}
	for _, s := range m.sections {
		if s.id != codeSection {
			continue
		}
		r := &reader{rest: s.content}
		for range r.vectorLength() {
			u.code = append(u.code, r.bytes(r.unsigned()))
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	u.findDescriptors()
	u.readData(t.Header, t.Functions.Data+t.Functions.Len)
	return u, nil
}

// findDescriptors finds the function descriptors, which are the longest sequence of words
// that are program counters. Method tables contain such words as well, but mixed with
// other words.
func (u *usage) findDescriptors() {
	for at := uint64(0); at+8 <= uint64(len(u.memory)); {
		start := at
		for at+8 <= uint64(len(u.memory)) && u.isCounter(u.word(at)) {
			at += 8
		}
		if at-start > u.after-u.descriptors {
			u.descriptors, u.after = start, at
		}
		at += 8
	}
}

func (u *usage) word(at uint64) uint64 { return binary.LittleEndian.Uint64(u.memory[at:]) }

// isCounter reports whether a number may be the program counter of a function.
func (u *usage) isCounter(v uint64) bool { return v>>16-u.first < uint64(len(u.used)) }

// use marks a function as used and queues its code, unless the function never runs.
func (u *usage) use(number uint64) {
	if number >= uint64(len(u.used)) || u.used[number] || u.never(int(number)) {
		return
	}
	u.used[number] = true
	u.queue = append(u.queue, number)
}

// value marks the function to which a number may refer: the number may be a program
// counter, or the address of a descriptor.
func (u *usage) value(v uint64) {
	if u.descriptors <= v && v < u.after && v%8 == 0 {
		v = u.word(v)
	}
	if u.isCounter(v) {
		u.use(v>>16 - u.first)
	}
}

// readData marks the functions that the data refers to: in method tables, in types, and
// in descriptors that the data points to. It skips the descriptors themselves, and the
// tables of all functions, which occupy the addresses from start to end.
func (u *usage) readData(start, end uint64) {
	half := func(at uint64) uint64 { return uint64(binary.LittleEndian.Uint32(u.memory[at:])) - u.first }
	n := uint64(len(u.used))
	for at := uint64(0); at+8 <= uint64(len(u.memory)); at += 4 {
		if start <= at && at < end || u.descriptors <= at && at < u.after {
			continue
		}
		if at%8 == 0 {
			u.value(u.word(at))
		}
		// The entry of a method in a type ends with two function numbers.
		if half(at) < n && half(at+4) < n {
			u.use(half(at))
			u.use(half(at + 4))
		}
	}
}

// follow marks the exported functions, and all functions that a used function calls or
// refers to. It does not read the code of functions that are replaced.
func (u *usage) follow(m *module, replaced []bool) error {
	for _, s := range m.sections {
		r := &reader{rest: s.content}
		if s.id != exportSection {
			continue
		}
		for range r.vectorLength() {
			r.bytes(r.unsigned()) // the name
			if kind, index := r.byte(), r.unsigned(); kind == 0 {
				u.use(index - u.imports)
			}
		}
		if r.err != nil {
			return r.err
		}
	}
	for len(u.queue) > 0 {
		number := u.queue[len(u.queue)-1]
		u.queue = u.queue[:len(u.queue)-1]
		if !replaced[number] {
			u.readCode(u.code[number])
		}
	}
	return nil
}

func (u *usage) readCode(content []byte) {
	_, steps := split(content)
	u.strange = u.strange || steps == nil
	for _, s := range steps {
		switch s.op {
		case 0x10:
			u.use(s.operand() - u.imports)
		case i32Const, i64Const:
			u.value(uint64(s.constant()))
		}
	}
}
