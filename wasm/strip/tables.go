package strip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// layouts describes the runtime's tables for each known Go release, including its patch
// releases. The releases differ only in the number of words in runtime.moduledata between
// findfunctab and gofunc.
var layouts = []layout{
	{"go1.26", 20},
	{"go1.27", 23},
}

type layout struct {
	release string
	bounds  uint64 // words of moduleData between FindFunc and FuncData
}

// The types below mirror types of Go's runtime on WebAssembly, where a word has eight
// bytes. Addresses refer to the linear memory.

// pcHeader is the header of the tables, runtime.pcHeader.
type pcHeader struct {
	Magic          uint32
	_              [2]byte
	MinLC, PtrSize uint8
	Functions      uint64 // number of functions
	Files          uint64 // number of files
	_              uint64
	// Offsets from the header.
	NameOffset, UnitOffset, FileOffset, PCOffset, FunctionOffset uint64
}

var magic = []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}

// slice is the representation of a Go slice in memory.
type slice struct{ Data, Len, Cap uint64 }

// moduleData contains the used fields of runtime.firstmoduledata.
type moduleData struct {
	moduleTables
	moduleEnd
}

// moduleTables is the beginning of runtime.moduledata.
type moduleTables struct {
	Header    uint64
	Names     slice // of functions, each ended by a zero
	Units     slice // of 4 bytes: the files of each compilation unit, as offsets into Files
	Files     slice // names, each ended by a zero
	PCs       slice // tables of values by program counter
	Functions slice // a functab, then function entries
	FuncTab   slice // of 8 bytes, at the address of Functions: a function's number and the offset of its entry
	FindFunc  uint64
}

// moduleEnd is a later part of runtime.moduledata. Between moduleTables and moduleEnd are
// layout.bounds words: bounds of program counters and of other linker output.
type moduleEnd struct {
	FuncData uint64
	End      uint64 // end of the tables
}

// size is the size of the used part of runtime.moduledata.
func (l layout) size() uint64 {
	return uint64(binary.Size(moduleTables{})) + 8*l.bounds + uint64(binary.Size(moduleEnd{}))
}

// function is the fixed part of an entry. PCData is the number of offsets into PCs that
// follow the fixed part. FuncData is the number of offsets from moduleData.FuncData that
// follow those.
type function struct {
	Number      uint32
	Name        uint32 // offset into Names
	Args        int32
	DeferReturn uint32
	SP          uint32 // offset into PCs
	File, Line  uint32 // offsets into PCs
	PCData      uint32 // number of PCData offsets
	Unit        uint32
	StartLine   int32
	ID, Flag    uint8
	_           uint8
	FuncData    uint8 // number of FuncData offsets
}

const (
	functionSize = 44
	// Indexes of PCData.
	pcUnsafePoint, pcInlined, pcLiveArgs, pcKinds = 0, 2, 3, 5
	// Indexes of FuncData.
	dataInlined, dataArgs, dataLiveArgs, dataWrapped, dataKinds = 3, 5, 6, 7, 8

	none = ^uint32(0) // missing FuncData

	inlinedSize = 16 // size of an element of dataInlined
	// The function lookup table. A bucket contains the number of its first function, and
	// sixteen bytes, one per subbucket, that are added to that number. The runtime looks up
	// only the starts of functions, so it uses only the first of these bytes, in the first
	// of a function's buckets.
	bucketSize, bucketUsed, functionBuckets = 20, 5, 16
)

// IDs of functions that the runtime treats specially; wrapper is the greatest ID.
const (
	gopanic, systemstackSwitch, wrapper = 10, 22, 23
)

// tables gives access to the runtime's tables of a module with a known layout.
type tables struct {
	memory []byte
	moduleData
	entries []uint64 // addresses of functions' entries, by number
}

// Unrecognized reports that the layout of a module's runtime tables matches no
// supported Go release. Such a module works, but cannot be stripped.
type Unrecognized struct {
	Release string // the Go release that built the module
	Reason  string
}

func (e *Unrecognized) Error() string {
	return fmt.Sprintf("the runtime tables of %s are not recognized: %s", e.Release, e.Reason)
}

func unknown(format string, args ...any) error {
	return &Unrecognized{Reason: fmt.Sprintf(format, args...)}
}

// find locates the tables in a module and checks every assumption about their layout.
func find(m *module) (*tables, error) {
	release, err := m.goRelease()
	if err != nil {
		return nil, err
	}
	t := &tables{memory: m.memory}
	if err := t.findAll(release); err != nil {
		if u, ok := errors.AsType[*Unrecognized](err); ok {
			u.Release = release
		}
		return nil, err
	}
	return t, nil
}

func (t *tables) findAll(release string) error {
	layout, ok := layoutOf(release)
	if !ok {
		return unknown("the known releases are %s", knownReleases())
	}
	if err := t.findModuleData(layout); err != nil {
		return err
	}
	if err := t.findEntries(); err != nil {
		return err
	}
	return t.checkFindFunc()
}

func layoutOf(release string) (layout, bool) {
	for _, l := range layouts {
		if release == l.release || strings.HasPrefix(release, l.release+".") {
			return l, true
		}
	}
	return layout{}, false
}

func knownReleases() string {
	var list []string
	for _, l := range layouts {
		list = append(list, l.release)
	}
	return strings.Join(list, ", ")
}

func (t *tables) findModuleData(l layout) error {
	at := bytes.Index(t.memory, magic)
	if at < 0 || at%8 != 0 || bytes.Contains(t.memory[at+1:], magic) {
		return unknown("the magic number %x is not there once", magic)
	}
	var h pcHeader
	t.read(uint64(at), &h)
	found := 0
	for word := uint64(0); word+l.size() <= uint64(len(t.memory)); word += 8 {
		if binary.LittleEndian.Uint64(t.memory[word:]) != uint64(at) {
			continue
		}
		d := t.moduleDataAt(word, l)
		if d.belongsTo(uint64(at), h) && d.End <= uint64(len(t.memory)) {
			t.moduleData = d
			found++
		}
	}
	if found != 1 {
		return unknown("of the words that point to them %d begin the module's data", found)
	}
	return nil
}

// moduleDataAt reads the used fields of runtime.moduledata at an address. At least
// l.size() bytes must follow.
func (t *tables) moduleDataAt(at uint64, l layout) moduleData {
	var d moduleData
	t.read(at, &d.moduleTables)
	t.read(at+l.size()-uint64(binary.Size(d.moduleEnd)), &d.moduleEnd)
	return d
}

// belongsTo reports whether the tables match the header at an address. The tables must
// be in order and must not overlap.
func (d *moduleData) belongsTo(at uint64, h pcHeader) bool {
	before := func(s slice, size, next uint64) bool {
		return s.Len == s.Cap && s.Data <= next && s.Len <= (next-s.Data)/size
	}
	return d.Names.Data == at+h.NameOffset && before(d.Names, 1, d.Units.Data) &&
		d.Units.Data == at+h.UnitOffset && before(d.Units, 4, d.Files.Data) &&
		d.Files.Data == at+h.FileOffset && before(d.Files, 1, d.PCs.Data) &&
		d.PCs.Data == at+h.PCOffset && before(d.PCs, 1, d.Functions.Data) &&
		d.Functions.Data == at+h.FunctionOffset && before(d.Functions, 1, d.FuncData) &&
		d.FuncTab.Data == d.Functions.Data && before(d.FuncTab, 8, d.FuncData) &&
		d.FuncTab.Len == h.Functions+1 && h.Functions > 0 &&
		d.FuncData < d.FindFunc && d.FindFunc < d.End
}

// findEntries sets t.entries to the addresses of the functions' entries, and checks each
// entry.
func (t *tables) findEntries() error {
	ids := map[string]uint8{"runtime.gopanic": gopanic, "runtime.systemstack_switch": systemstackSwitch}
	first := t.word(t.FuncTab.Data)
	for i := range t.FuncTab.Len - 1 {
		number, offset := t.word(t.FuncTab.Data+8*i), uint64(t.word(t.FuncTab.Data+8*i+4))
		if number == 0 && offset == 0 {
			return unknown("function %d has no entry: was it stripped before?", i)
		}
		if number != first+uint32(i) || offset < 8*t.FuncTab.Len-4 || offset+functionSize > t.Functions.Len {
			return unknown("function %d has number %d and its entry at %d", i, number, offset)
		}
		at := t.Functions.Data + offset
		f := t.function(at)
		if f.Number != number || f.PCData > pcKinds || f.FuncData > dataKinds || f.ID > wrapper || uint64(f.Name) >= t.Names.Len {
			return unknown("the entry of function %d is %+v", i, f)
		}
		if err := t.checkEntry(at, f); err != nil {
			return fmt.Errorf("function %d (%s): %w", i, t.name(f.Name), err)
		}
		name := t.name(f.Name)
		if id, ok := ids[name]; ok && id != f.ID {
			return unknown("%s has ID %d, not %d", name, f.ID, id)
		}
		delete(ids, name)
		t.entries = append(t.entries, at)
	}
	for name := range ids {
		return unknown("no function is called %s (was it stripped before?)", name)
	}
	return nil
}

func (t *tables) checkEntry(at uint64, f function) error {
	if at+functionSize+4*uint64(f.PCData)+4*uint64(f.FuncData) > t.Functions.Data+t.Functions.Len {
		return unknown("the entry ends beyond the last")
	}
	for _, offset := range t.pcTables(at, f) {
		if _, _, err := t.pcTable(offset); err != nil {
			return err
		}
	}
	for i := range uint32(f.FuncData) {
		if offset := t.word(f.funcData(at, i)); offset != none && t.FuncData+uint64(offset) >= t.FindFunc {
			return unknown("data %d is beyond all data", i)
		}
	}
	if start, n := t.inlined(at, f); start+n*inlinedSize > t.FindFunc {
		return unknown("what is inlined ends beyond all data")
	}
	return nil
}

// inlined returns the address of the list of functions inlined into a function, and the
// number of its elements.
func (t *tables) inlined(at uint64, f function) (start, length uint64) {
	if f.FuncData <= dataInlined || f.PCData <= pcInlined || t.word(f.funcData(at, dataInlined)) == none {
		return 0, 0
	}
	_, last, _ := t.pcTable(t.word(f.pcData(at, pcInlined)))
	return t.FuncData + uint64(t.word(f.funcData(at, dataInlined))), uint64(last + 1)
}

// checkFindFunc checks that the lookup table maps each function to its number.
func (t *tables) checkFindFunc() error {
	for i := range uint64(len(t.entries)) {
		bucket := t.FindFunc + i*functionBuckets*bucketSize
		if bucket+bucketUsed > t.End || uint64(t.word(bucket)) != i || t.memory[bucket+4] != 0 {
			return unknown("function %d is not found by the bucket of its number", i)
		}
	}
	return nil
}

// pcTables returns the offsets of all tables of a function in PCs.
func (t *tables) pcTables(at uint64, f function) []uint32 {
	list := []uint32{f.SP, f.File, f.Line}
	for i := range f.PCData {
		list = append(list, t.word(f.pcData(at, i)))
	}
	return list
}

// pcTable returns the end and the greatest value of the table at an offset into PCs. A
// table is a sequence of pairs of varints: the change of the value, which begins at -1,
// and the change of the program counter. After the first pair, a value change of zero
// ends the table. Offset 0 means that there is no table.
func (t *tables) pcTable(offset uint32) (end uint64, greatest int64, err error) {
	if offset == 0 {
		return 0, -1, nil
	}
	if uint64(offset) >= t.PCs.Len {
		return 0, 0, unknown("a table is at %d, beyond the last", offset)
	}
	rest := t.memory[t.PCs.Data:][:t.PCs.Len][offset:]
	greatest = -1
	for value, first := int64(-1), true; ; first = false {
		change, n := binary.Varint(rest)
		if n > 0 && change == 0 && !first {
			return t.PCs.Len - uint64(len(rest)-n), greatest, nil
		}
		_, k := binary.Uvarint(rest[max(n, 0):])
		if n <= 0 || k <= 0 {
			return 0, 0, unknown("the table at %d does not end", offset)
		}
		value += change
		if value != int64(int32(value)) {
			return 0, 0, unknown("the table at %d has %d", offset, value)
		}
		greatest = max(greatest, value)
		rest = rest[n+k:]
	}
}

func (t *tables) name(offset uint32) string {
	name, _, _ := bytes.Cut(t.memory[t.Names.Data:][:t.Names.Len][offset:], []byte{0})
	return string(name)
}

func (t *tables) function(at uint64) function {
	var f function
	t.read(at, &f)
	return f
}

// pcData returns the address of the field for PCData of the given kind, in the entry at
// an address. The field is an offset into PCs.
func (f function) pcData(at uint64, kind uint32) uint64 { return at + functionSize + 4*uint64(kind) }

// funcData returns the address of the field for FuncData of the given kind, in the entry
// at an address. The field is an offset from moduleData.FuncData.
func (f function) funcData(at uint64, kind uint32) uint64 {
	return f.pcData(at, f.PCData) + 4*uint64(kind)
}

// read reads a structure from the memory. The caller must have checked the bounds.
func (t *tables) read(at uint64, into any) {
	if _, err := binary.Decode(t.memory[at:], binary.LittleEndian, into); err != nil {
		panic(err)
	}
}

func (t *tables) write(at uint64, from any) {
	if _, err := binary.Encode(t.memory[at:], binary.LittleEndian, from); err != nil {
		panic(err)
	}
}

func (t *tables) word(at uint64) uint32 { return binary.LittleEndian.Uint32(t.memory[at:]) }
