package objectjson

import (
	"bytes"
	"unsafe"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// assemble builds the object from the captures of the walk. It first writes all texts to
// one buffer, and then slices them from one string in the same order. The texts therefore
// cost one allocation.
func (s *Scanner) assemble() error {
	o := &s.object
	s.texts.reset()
	if err := s.writeKey(); err != nil {
		return err
	}
	rv, err := s.resourceVersion()
	if err != nil {
		return err
	}
	o.ResourceVersion = rv
	o.Flags = 0
	if string(s.last(slotImmutable)) == "true" {
		o.Flags = api.Immutable
	}
	o.Body = api.Body{Codec: api.JSON, Data: s.body.out}
	s.writeTexts()
	s.takeTexts()
	o.Labels = sortLabels(o.Labels)
	return nil
}

// last returns the JSON of the last value captured for a slot, or nil if there is
// none.
func (s *Scanner) last(slot int) []byte {
	if s.heads[slot] < 0 {
		return nil
	}
	return s.json(s.heads[slot])
}

// json returns the JSON of a capture.
func (s *Scanner) json(capture int) []byte {
	c := &s.captures[capture]
	return s.body.raw[c.start:c.end]
}

// results returns the index of the first capture of a slot in document order, or -1. It
// reverses the list of captures, so each link then leads to the following capture.
// Callers must not call results twice for a slot in one Scan.
func (s *Scanner) results(slot int) int {
	first := -1
	for c := s.heads[slot]; c >= 0; {
		previous := s.captures[c].link
		s.captures[c].link = first
		first, c = c, previous
	}
	return first
}

// writeKey writes the key of the object, which is the first text. It returns an error if
// the object has no valid name or namespace.
func (s *Scanner) writeKey() error {
	namespace, _ := stringContent(s.last(slotNamespace))
	if s.texts.add(namespace); bytes.IndexByte(s.texts.bytes, '/') >= 0 {
		return s.misfit(slotNamespace, "metadata.namespace", "a namespace cannot contain a slash")
	}
	if len(s.texts.bytes) > 0 {
		s.texts.bytes = append(s.texts.bytes, '/')
	}
	start := len(s.texts.bytes)
	name, ok := stringContent(s.last(slotName))
	if !ok || len(name) == 0 {
		return s.misfit(slotName, "metadata.name", "the object has no name")
	}
	if s.texts.add(name); bytes.IndexByte(s.texts.bytes[start:], '/') >= 0 {
		return s.misfit(slotName, "metadata.name", "a name cannot contain a slash")
	}
	s.texts.end()
	return nil
}

// resourceVersion returns the version of the object, or zero if it has none. A
// version that is not a decimal string is an error, because versions must be
// comparable.
func (s *Scanner) resourceVersion() (api.ResourceVersion, error) {
	value := s.last(slotResourceVersion)
	if value == nil || value[0] == 'n' {
		return 0, nil
	}
	const path = "metadata.resourceVersion"
	if value[0] != '"' {
		return 0, s.misfit(slotResourceVersion, path, "expected a string")
	}
	rv, err := api.ParseResourceVersion(string(value[1 : len(value)-1]))
	if err != nil {
		return 0, s.misfit(slotResourceVersion, path, "expected a decimal number that fits 64 bits")
	}
	return rv, nil
}

// misfit returns the error for well-formed JSON of the wrong type or content.
func (s *Scanner) misfit(slot int, path, message string) *SyntaxError {
	offset := 0
	if c := s.heads[slot]; c >= 0 {
		offset = s.captures[c].start
	}
	return &SyntaxError{Offset: offset, Path: path, Message: message}
}

// writeTexts writes all texts except the key, and sets all values that are not
// texts.
func (s *Scanner) writeTexts() {
	uid, _ := stringContent(s.last(slotUID))
	s.texts.add(uid)
	s.texts.end()
	slot := firstFieldSlot
	for range s.object.Fields {
		if value := s.last(slot); value != nil {
			s.texts.addScalar(value)
		}
		s.texts.end()
		slot++
	}
	s.writeCells()
	s.owned = s.writeOwner()
	for _, l := range s.labels {
		s.texts.add(s.body.raw[l.name+1 : l.nameEnd-1])
		s.texts.end()
		value, _ := stringContent(s.body.raw[l.value:l.end])
		s.texts.add(value)
		s.texts.end()
	}
}

// writeCells writes the texts of the columns, and sets all cells that are not texts.
func (s *Scanner) writeCells() {
	if s.columnsOnly && len(s.captures) > maxResults {
		clear(s.object.Columns)
		return
	}
	for _, p := range s.prints {
		p.run(s)
	}
	for i := range s.columns {
		start := len(s.texts.bytes)
		s.object.Columns[i] = s.cell(&s.columns[i])
		if s.columnsOnly && len(s.texts.bytes)-start > MaxText {
			s.texts.cut(start + MaxText)
		}
	}
}

// writeOwner writes the text of the object's controller or, if there is none, of the
// first owner with a UID. It returns false if the object has neither.
func (s *Scanner) writeOwner() bool {
	var owner [3]Document // uid, kind, name
	for c := s.results(slotOwners); c >= 0; c = s.captures[c].link {
		var parts [4]Document
		Document(s.json(c)).Pick(parts[:], "uid", "kind", "name", "controller")
		if uid, _ := stringContent(parts[0]); len(uid) == 0 {
			continue
		}
		if controls := parts[3].True(); owner[0] == nil || controls {
			if owner = [3]Document(parts[:]); controls {
				break
			}
		}
	}
	if owner[0] == nil {
		return false
	}
	var space [256]byte
	text, ends := space[:0], [3]int{}
	for i := range owner {
		quoted, _ := stringContent(owner[i])
		text = appendText(text, quoted)
		ends[i] = len(text)
	}
	all := unsafe.String(unsafe.SliceData(text), len(text))
	key := api.Key(s.texts.bytes[:s.texts.ends[0]])
	s.texts.bytes = api.Owner{UID: all[:ends[0]], Kind: all[ends[0]:ends[1]], Name: all[ends[1]:]}.Append(s.texts.bytes, key.Name())
	s.texts.end()
	return true
}

// takeTexts sets the texts of the object, in the order in which they were written.
func (s *Scanner) takeTexts() {
	t, o := &s.texts, &s.object
	t.seal()
	o.Key = api.Key(t.take())
	o.UID = t.take()
	for i := range o.Fields {
		o.Fields[i] = t.take()
	}
	for i := range o.Columns {
		if o.Columns[i].Kind == api.String {
			o.Columns[i].Text = t.take()
		}
	}
	o.Labels = o.Labels[:0]
	if s.owned {
		o.Labels = append(o.Labels, api.Label{Value: t.take()})
	}
	for range s.labels {
		if l := (api.Label{Key: t.take(), Value: t.take()}); l.Key != "" { // an empty key is reserved for the owner
			o.Labels = append(o.Labels, l)
		}
	}
}

// sortLabels sorts the labels by key and returns only the last label of each key.
// Kubernetes writes sorted labels, so this is usually a no-op.
func sortLabels(labels api.Labels) api.Labels {
	inOrder := true
	for i := 1; i < len(labels); i++ {
		inOrder = inOrder && labels[i-1].Key < labels[i].Key
	}
	if inOrder {
		return labels
	}
	lite.Sort(labels, func(a, b *api.Label) bool { return a.Key < b.Key })
	kept := labels[:0]
	for i, l := range labels {
		if i+1 == len(labels) || labels[i+1].Key != l.Key {
			kept = append(kept, l)
		}
	}
	return kept
}

// stringContent returns the bytes between the quotes of a JSON string, and false for
// other values.
func stringContent(json []byte) (quoted []byte, ok bool) {
	if len(json) < 2 || json[0] != '"' {
		return nil, false
	}
	return json[1 : len(json)-1], true
}

// texts contains strings in one buffer. The scanner writes all strings, then seals the
// buffer, then takes the strings in the same order.
type texts struct {
	bytes []byte
	ends  []int // end of each text in bytes
	all   string
	from  int // offset of the next text to take
	taken int
	// borrowed means that the string "all" aliases the buffer "bytes".
	borrowed bool
}

func (t *texts) reset() {
	*t = texts{bytes: t.bytes[:0], ends: t.ends[:0], borrowed: t.borrowed}
}

// add appends the text of a JSON string, given without quotes.
//
//go:noinline
func (t *texts) add(quoted []byte) { t.bytes = appendText(t.bytes, quoted) }

// addScalar appends the text of a string, number or bool. It returns false for other
// values.
func (t *texts) addScalar(json []byte) bool {
	switch json[0] {
	case '"':
		t.add(json[1 : len(json)-1])
	case '{', '[', 'n':
		return false
	default:
		t.bytes = append(t.bytes, json...)
	}
	return true
}

// end completes a text.
func (t *texts) end() { t.ends = append(t.ends, len(t.bytes)) }

// cut shortens the last text and appends "…", so that the text ends at the offset "end"
// or earlier.
func (t *texts) cut(end int) {
	const mark = "…"
	for end -= len(mark); t.bytes[end]&0xc0 == 0x80; {
		end-- // do not cut within a character
	}
	t.bytes = append(t.bytes[:end], mark...)
	t.ends[len(t.ends)-1] = len(t.bytes)
}

func (t *texts) seal() {
	if t.borrowed {
		t.all = unsafe.String(unsafe.SliceData(t.bytes), len(t.bytes))
		return
	}
	t.all = string(t.bytes)
}

func (t *texts) take() string {
	end := t.ends[t.taken]
	text := t.all[t.from:end]
	t.from, t.taken = end, t.taken+1
	return text
}
