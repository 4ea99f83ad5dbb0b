package strip

import (
	"bytes"
	"encoding/binary"
)

// step is an instruction. text is the encoded instruction, including its operands.
type step struct {
	op   byte
	text []byte
}

// split returns the instructions of a function, and the declarations of its locals as
// encoded in the file. It returns no instructions if an instruction is unknown.
func split(content []byte) (locals []byte, steps []step) {
	f := &body{reader: reader{rest: content}}
	for range f.vectorLength() {
		f.unsigned()
		f.byte()
	}
	locals = content[:len(content)-len(f.rest)]
	for len(f.rest) > 0 {
		rest := f.rest
		op := f.byte()
		switch op {
		case end:
		case opBlock, opLoop, opIf, opBr, opBrIf, opLocalGet, opLocalSet, i32Const:
			f.unsigned()
		case opBrTable:
			for range f.vectorLength() + 1 {
				f.unsigned()
			}
		case i64Const:
			for f.byte() >= 0x80 {
			}
		default:
			f.operands(op)
		}
		if f.err != nil || f.strange {
			return locals, nil
		}
		steps = append(steps, step{op, rest[:len(rest)-len(f.rest)]})
	}
	return locals, steps
}

// assemble encodes a function from the parts that split returns.
func assemble(locals []byte, steps []step) []byte {
	content := bytes.Clone(locals)
	for _, s := range steps {
		content = append(content, s.text...)
	}
	return content
}

// plain returns an instruction whose operands are single bytes.
func plain(text ...byte) step { return step{text[0], text} }

// with returns an instruction with one unsigned operand.
func with(op byte, operand uint64) step {
	return step{op, binary.AppendUvarint([]byte{op}, operand)}
}

// operand returns the first operand, an unsigned number.
func (s step) operand() uint64 {
	v, _ := binary.Uvarint(s.text[1:])
	return v
}

// constant returns the operand of i32.const or i64.const, a signed number.
func (s step) constant() (v int64) {
	shift := 0
	for _, b := range s.text[1:] {
		v |= int64(b&0x7f) << shift
		if shift += 7; b < 0x80 && b&0x40 != 0 && shift < 64 {
			v |= -1 << shift
		}
	}
	return v
}

// begins reports whether the first instructions match a pattern. An instruction of the
// pattern without operands matches any operands.
func begins(steps []step, pattern ...step) bool {
	if len(steps) < len(pattern) {
		return false
	}
	for i, p := range pattern {
		if steps[i].op != p.op || len(p.text) > 1 && !bytes.Equal(steps[i].text, p.text) {
			return false
		}
	}
	return true
}

// eachFunction replaces the code of each function with the result of change. number is
// the index of the function in the code section.
func (m *module) eachFunction(change func(number int, content []byte) []byte) error {
	for i := range m.sections {
		s := &m.sections[i]
		if s.id != codeSection {
			continue
		}
		r := &reader{rest: s.content}
		functions := r.vectorLength()
		out := binary.AppendUvarint(nil, functions)
		for number := range functions {
			content := change(int(number), r.bytes(r.unsigned()))
			out = append(binary.AppendUvarint(out, uint64(len(content))), content...)
		}
		if r.err != nil {
			return r.err
		}
		s.content = out
	}
	return nil
}
