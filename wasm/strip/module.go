package strip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
)

const (
	customSection   = 0
	typeSection     = 1
	importSection   = 2
	functionSection = 3
	exportSection   = 7
	startSection    = 8
	dataSection     = 11

	i32Const = 0x41
	end      = 0x0b
)

// gap is the number of consecutive zeros that end a segment. With a smaller gap, the
// additional segments cost more than they save. With a larger gap, the uncompressed
// module grows.
const gap = 64

var header = []byte("\x00asm\x01\x00\x00\x00")

// section is a section of a module, with its content as in the file.
type section struct {
	id      byte
	content []byte
}

// module is a parsed module. memory is the content of the linear memory after the data
// section has initialized it.
type module struct {
	sections []section
	memory   []byte
}

// reader parses the contents of a section. After an error, its methods return zero
// values.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(text string) {
	if r.err == nil {
		r.err = errors.New(text)
	}
	r.rest = nil
}

func (r *reader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail("the module is truncated")
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) unsigned() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail("the module is truncated")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// vectorLength reads the number of elements that follow. It fails if fewer bytes follow,
// because each element has at least one byte.
func (r *reader) vectorLength() uint64 {
	n := r.unsigned()
	if n > uint64(len(r.rest)) {
		r.fail("the module is truncated")
		return 0
	}
	return n
}

// address reads a signed number. It fails unless the number is from 0 to 2^31-1.
func (r *reader) address() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v >= 1<<31 || v>>(7*n-1) != 0 {
		r.fail("the address of a data segment is not below 2 GiB")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// parse parses a module with one memory, whose initial content is in the data section.
func parse(file []byte) (*module, error) {
	rest, ok := bytes.CutPrefix(file, header)
	if !ok {
		return nil, errors.New("not a WebAssembly module of version 1")
	}
	m := &module{}
	r := &reader{rest: rest}
	for len(r.rest) > 0 {
		s := section{id: r.byte()}
		s.content = r.bytes(r.unsigned())
		if s.id == dataSection {
			if m.memory != nil {
				return nil, errors.New("the module has two data sections")
			}
			if m.memory, r.err = fill(s.content); r.err != nil {
				return nil, r.err
			}
		}
		m.sections = append(m.sections, s)
	}
	if r.err == nil && m.memory == nil {
		r.err = errors.New("the module has no data")
	}
	return m, r.err
}

// fill returns the memory that a data section initializes, up to its last byte.
func fill(data []byte) ([]byte, error) {
	r := &reader{rest: data}
	var memory []byte
	for range r.vectorLength() {
		if r.byte() != 0 || r.byte() != i32Const {
			r.fail("a data segment is not at a constant address of the first memory")
		}
		at := r.address()
		if r.byte() != end {
			r.fail("a data segment is not at a constant address of the first memory")
		}
		content := r.bytes(r.unsigned())
		if r.err != nil {
			return nil, r.err
		}
		if beyond := int(at) + len(content) - len(memory); beyond > 0 {
			memory = append(memory, make([]byte, beyond)...)
		}
		copy(memory[at:], content)
	}
	return memory, r.err
}

// encode returns the encoded module.
func (m *module) encode() []byte {
	out := bytes.Clone(header)
	for _, s := range m.sections {
		if s.id == dataSection {
			s.content = m.data()
		}
		out = append(out, s.id)
		out = binary.AppendUvarint(out, uint64(len(s.content)))
		out = append(out, s.content...)
	}
	return out
}

// data returns the content of a data section that initializes the memory to m.memory.
func (m *module) data() []byte {
	var segments []byte
	count := uint64(0)
	for at := 0; at < len(m.memory); {
		rest := m.memory[at:]
		if zeros := leadingZeros(rest); zeros > 0 {
			at += zeros
			continue
		}
		content := rest
		if n := bytes.Index(rest, make([]byte, gap)); n >= 0 {
			content = rest[:n]
		}
		content = bytes.TrimRight(content, "\x00")
		segments = append(segments, 0, i32Const)
		segments = appendSigned(segments, uint64(at))
		segments = append(segments, end)
		segments = binary.AppendUvarint(segments, uint64(len(content)))
		segments = append(segments, content...)
		at += len(content)
		count++
	}
	return append(binary.AppendUvarint(nil, count), segments...)
}

func leadingZeros(b []byte) int { return len(b) - len(bytes.TrimLeft(b, "\x00")) }

// appendSigned appends a non-negative number in the encoding of signed numbers, so the
// sign bit of the last byte is clear.
func appendSigned(b []byte, v uint64) []byte {
	for ; v >= 1<<6; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// goRelease returns the release of Go that built the module, such as "go1.26.8", from the
// custom section named producers.
func (m *module) goRelease() (string, error) {
	for _, s := range m.sections {
		r := &reader{rest: s.content}
		if s.id != customSection || string(r.bytes(r.unsigned())) != "producers" {
			continue
		}
		for range r.vectorLength() {
			r.bytes(r.unsigned()) // the field
			for range r.vectorLength() {
				name, version := r.bytes(r.unsigned()), r.bytes(r.unsigned())
				if string(name) == "Go" {
					return string(version), r.err
				}
			}
		}
	}
	return "", &Unrecognized{"an unknown release", "the module does not name the Go release that built it"}
}

// functions returns how many functions the module imports and how many it defines. It
// counts all imports, because Go imports only functions.
func (m *module) functions() (imported, own uint64, err error) {
	for _, s := range m.sections {
		r := &reader{rest: s.content}
		switch s.id {
		case importSection:
			imported = r.vectorLength()
		case functionSection:
			own = r.vectorLength()
		}
		if r.err != nil {
			return 0, 0, r.err
		}
	}
	return imported, own, nil
}

// add adds functions after all others. The parameter kind is the encoded type of the
// added functions.
func (m *module) add(kind []byte, added []code) error {
	var types uint64
	for i := range m.sections {
		s := &m.sections[i]
		r := &reader{rest: s.content}
		var more []byte
		n := uint64(len(added))
		switch s.id {
		case typeSection:
			types, _ = binary.Uvarint(s.content)
			more, n = kind, 1
		case functionSection:
			for range added {
				more = binary.AppendUvarint(more, types)
			}
		case codeSection:
			for _, c := range added {
				more = append(binary.AppendUvarint(more, uint64(len(c))), c...)
			}
		default:
			continue
		}
		content := binary.AppendUvarint(nil, r.vectorLength()+n)
		s.content = append(append(content, r.rest...), more...)
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// start sets the start function of a module that has none.
func (m *module) start(index uint64) {
	at := slices.IndexFunc(m.sections, func(s section) bool { return s.id >= startSection })
	m.sections = slices.Insert(m.sections, at, section{startSection, binary.AppendUvarint(nil, index)})
}
