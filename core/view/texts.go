package view

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// texts caches the search texts of objects, for all views of a collection. A text is computed
// when a search that narrows another search reads it. It is dropped when one of its columns
// changes.
type texts struct {
	arena *store.Arena
	// cells are the columns that texts consist of. opaque means that api.Cells cannot
	// represent some of them, so every change may change the text.
	cells  api.Cells
	opaque bool
	at     []textSpan // by object
	chunks [][]byte
	live   int    // bytes of the texts in use
	buffer []byte // the text that was computed last
	index  wire.CellIndex
}

// textSpan locates a text. The field at consists of the number of the chunk and 16 bits of
// offset. The span is zero if there is no text.
type textSpan struct {
	at     uint32
	length uint16
}

const (
	textChunk = 1 << 16
	// longestText is the maximum length of a text that is stored.
	longestText = 1 << 12
	// maxTextBytes limits the memory of the texts of a collection.
	maxTextBytes = 64 << 20
	// unusedTextBytes is the amount by which unused memory may exceed used memory. Beyond
	// this amount, all texts are dropped.
	unusedTextBytes = 1 << 20
)

// newTexts returns a cache without texts, for about n objects.
func newTexts(arena *store.Arena, schema *api.Schema, n int) *texts {
	t := &texts{arena: arena, at: make([]textSpan, n+1)}
	for i := range schema.Columns {
		cell := api.ColumnCell(i)
		t.cells, t.opaque = t.cells|cell, t.opaque || cell == 0
	}
	return t
}

// same reports whether a change is known to preserve the text.
func (t *texts) same(e *history.Event) bool {
	return e.Previous != 0 && e.Current != 0 && !t.opaque && e.Unchanged&t.cells == t.cells
}

// kept returns the cached text of an object, or nil if it must be computed.
func (t *texts) kept(id store.ID) []byte {
	if int(id) >= len(t.at) || t.at[id].length == 0 {
		return nil
	}
	s := t.at[id]
	from := int(s.at % textChunk)
	return t.chunks[s.at/textChunk][from : from+int(s.length)]
}

// text returns the search text of an object, whose current version is ref. The text is
// valid until the next call.
func (t *texts) text(id store.ID, ref store.Ref) []byte {
	if text := t.kept(id); text != nil {
		return text
	}
	t.index.Read(t.arena.Envelope(ref))
	t.buffer = query.AppendText(t.buffer[:0], &t.index)
	t.keep(id)
	return t.buffer
}

// keep caches the text that is in the buffer, if there is room.
func (t *texts) keep(id store.ID) {
	n := len(t.chunks)
	if len(t.buffer) > longestText {
		return
	}
	if n == 0 || len(t.chunks[n-1])+len(t.buffer) > textChunk {
		if n*textChunk > 2*t.live+unusedTextBytes {
			t.clear()
			n = 0
		}
		if n*textChunk >= maxTextBytes {
			return
		}
		t.chunks = append(t.chunks, make([]byte, 0, textChunk))
		n++
	}
	if missing := int(id) + 1 - len(t.at); missing > 0 {
		t.at = append(t.at, make([]textSpan, missing)...)
	}
	chunk := t.chunks[n-1]
	t.at[id] = textSpan{uint32((n-1)*textChunk + len(chunk)), uint16(len(t.buffer))}
	t.chunks[n-1] = append(chunk, t.buffer...)
	t.live += len(t.buffer)
}

func (t *texts) forget(id store.ID) {
	if int(id) < len(t.at) {
		t.live -= int(t.at[id].length)
		t.at[id] = textSpan{}
	}
}

func (t *texts) clear() {
	clear(t.at)
	t.chunks, t.live = nil, 0
}

func (t *texts) usedBytes() int { return len(t.chunks)*textChunk + cap(t.at)*textSpanSize }

const textSpanSize = 8
