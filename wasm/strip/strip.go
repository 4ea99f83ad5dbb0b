package strip

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// GuestFunctions lists the functions that a build of wasm/guest must contain, because
// [Module] replaces their code. A missing function was renamed, or is inlined or unused.
var GuestFunctions = slices.Sorted(maps.Keys(vectorized))

// savings is the share of the linker's output that stripping removes. It was measured
// with wasm/guest and go1.27.2, and is used only in the text of a warning.
const savings = 0.37

// File strips the module in one file and writes the result to another, which may be the
// same file. When it does not recognize the module's runtime tables, it copies the module
// unmodified and returns a warning. It returns an error if it recognizes the tables and a
// required function is missing.
func File(from, to string, required ...string) (warning string, err error) {
	linked, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	stripped, err := Module(linked, required...)
	if u, ok := errors.AsType[*Unrecognized](err); ok {
		warning = fmt.Sprintf("%v; %s is the linker's output of %d bytes, unmodified: stripped it would have about %d bytes less",
			u, to, len(linked), int(savings*float64(len(linked))))
		stripped, err = linked, nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	return warning, os.WriteFile(to, stripped, 0o644)
}

// Module returns the stripped module. It returns an [Unrecognized] error for a module of
// an unknown Go release. It returns a different error if the file is not a module or
// lacks a required function.
func Module(file []byte, required ...string) ([]byte, error) {
	m, err := parse(file)
	if err != nil {
		return nil, err
	}
	t, err := find(m)
	if err != nil {
		return nil, err
	}
	if err := t.require(required); err != nil {
		return nil, err
	}
	functions := make([]string, len(t.entries)) // names of the functions, by number
	for i, at := range t.entries {
		functions[i] = t.name(t.function(at).Name)
	}
	if err := m.dropUnused(t, functions); err != nil {
		return nil, err
	}
	names := newNameTable()
	tables := make(map[uint32]bool) // offsets of the tables that the runtime still reads
	codes := make(map[uint64]code)  // replacement code, by function number
	for i, at := range t.entries {
		f := t.function(at)
		if other, ok := vectorized[functions[i]]; ok {
			codes[uint64(i)] = other
		}
		names.rename(&f, functions[i])
		t.dropInlined(at, f)
		t.dropPositions(at, &f)
		t.write(at, f)
		for _, offset := range t.pcTables(at, f) {
			tables[offset] = true
		}
	}
	if err := t.keepNames(names); err != nil {
		return nil, err
	}
	t.keepTables(tables)
	t.shortenFindFunc()
	clear(t.memory[t.Units.Data : t.Files.Data+t.Files.Len])
	if err := m.branchForward(); err != nil {
		return nil, err
	}
	if err := m.vectorize(codes, len(t.entries)); err != nil {
		return nil, err
	}
	if err := m.shorten(t, functions); err != nil {
		return nil, err
	}
	if err := m.numberAtStart(t); err != nil {
		return nil, err
	}
	return m.encode(), nil
}

// require returns an error unless the module has each of the named functions exactly
// once.
func (t *tables) require(functions []string) error {
	count := make(map[string]int)
	for _, at := range t.entries {
		count[t.name(t.function(at).Name)]++
	}
	for _, name := range functions {
		if count[name] != 1 {
			return fmt.Errorf("the module has %d functions named %s, expected one: its vector code in wasm/strip/vectors.go has no function to replace; "+
				"after a rename, change the name there; otherwise see that the function is called and not inlined", count[name], name)
		}
	}
	return nil
}

// nameTable collects the names that the runtime compares or parses.
type nameTable struct{ text []byte }

// otherName and runtimeName are the offsets of the two names that functions share unless
// they keep their own. The name for functions of the runtime has the prefix "runtime.".
// The runtime recognizes its own goroutines by this prefix in their first function's
// name.
const (
	otherName   = 1
	runtimeName = 3
)

func newNameTable() *nameTable { return &nameTable{[]byte("\x00_\x00runtime._\x00")} }

// rename sets the name of a function to a shared name, or adds the existing name to the
// table. Wrappers keep their names, because the runtime prints these names when a value
// method is called with a nil pointer. Functions of package reflect also keep their
// names, because the runtime recognizes the assembly functions among them.
func (n *nameTable) rename(f *function, name string) {
	switch {
	case f.ID == wrapper || strings.HasPrefix(name, "reflect."):
		f.Name = uint32(len(n.text))
		n.text = append(append(n.text, name...), 0)
	case strings.HasPrefix(name, "runtime."):
		f.Name = runtimeName
	default:
		f.Name = otherName
	}
}

func (t *tables) keepNames(n *nameTable) error {
	old := t.memory[t.Names.Data:][:t.Names.Len]
	if len(n.text) > len(old) {
		return unknown("the names that stay are longer than all names")
	}
	clear(old)
	copy(old, n.text)
	return nil
}

// dropPositions removes the references to the tables of files, lines, arguments and
// preemption points from an entry.
func (t *tables) dropPositions(at uint64, f *function) {
	f.File, f.Line, f.Unit, f.StartLine = 0, 0, 0, 0
	for _, kind := range []uint32{pcUnsafePoint, pcLiveArgs} {
		if kind < f.PCData {
			t.write(f.pcData(at, kind), uint32(0))
		}
	}
	for _, kind := range []uint32{dataArgs, dataLiveArgs, dataWrapped} {
		if kind < uint32(f.FuncData) {
			t.write(f.funcData(at, kind), none)
		}
	}
}

// dropInlined removes the list of functions that were inlined into a function. A call to
// recover stops a panic only if few enough functions are on the stack between the panic
// and recover. The runtime counts these functions, including inlined ones but not
// wrappers. Most lists do not change the outcome: a function that calls recover is never
// inlined, and any other function already exceeds the limit. In a wrapper, however, only
// the inlined function counts, so the list of a wrapper stays, without names.
func (t *tables) dropInlined(at uint64, f function) {
	start, n := t.inlined(at, f)
	if n == 0 {
		return
	}
	for i := range n {
		inlined := t.memory[start+i*inlinedSize:][:inlinedSize]
		clear(inlined[4:8])   // its name
		clear(inlined[12:16]) // its first line
	}
	if f.ID == wrapper {
		return
	}
	clear(t.memory[start : start+n*inlinedSize])
	t.write(f.pcData(at, pcInlined), uint32(0))
	t.write(f.funcData(at, dataInlined), none)
}

// keepTables zeroes all tables in PCs except those at the given offsets.
func (t *tables) keepTables(offsets map[uint32]bool) {
	old := t.memory[t.PCs.Data:][:t.PCs.Len]
	kept := make([]byte, len(old))
	for offset := range offsets {
		end, _, _ := t.pcTable(offset)
		copy(kept[min(uint64(offset), end):end], old[offset:])
	}
	copy(old, kept)
}

// shortenFindFunc zeroes the unused bytes of the function lookup table.
func (t *tables) shortenFindFunc() {
	const stride = functionBuckets * bucketSize
	for i := range uint64(len(t.entries)) {
		at := t.FindFunc + i*stride
		clear(t.memory[at+bucketUsed : min(at+stride, t.End)])
	}
}
