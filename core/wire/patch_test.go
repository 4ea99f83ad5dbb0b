package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func TestPatchMakesTheEnvelope(t *testing.T) {
	body := api.Body{Codec: api.Packed, Data: []byte{1, 2, 3}}
	for _, c := range []struct{ previous, current Envelope }{
		{pod(jsonBody), pod(body)},
		{pod(jsonBody), pod2},
		{pod2, pod(api.Body{})},
		{bareItem.Envelope, bareItem.Envelope},
	} {
		b, ok := AppendPatch([]byte("before"), c.previous, c.current, c.current.Body())
		require.True(t, ok)
		p := Patch(b[len("before"):])
		codec, err := p.validate()
		require.Nil(t, err)
		require.Equal(t, c.current.Body().Codec, codec)
		require.Equal(t, c.current.Key(), p.Key())
		require.Equal(t, c.current.Body(), p.Body())
		e, unchanged, status := p.Apply([]byte("before"), c.previous)
		require.Nil(t, status)
		requireUnchanged(t, unchanged, c.previous, e)
		require.Equal(t, []byte(c.current), []byte(e))
		require.LessOrEqual(t, len(p), len(c.current))
	}
}

// requireUnchanged checks that each cell in the set unchanged is equal in both envelopes.
func requireUnchanged(t *testing.T, unchanged api.Cells, previous, current Envelope) {
	for i := range 40 {
		if unchanged.Has(api.FieldCell(i)) {
			require.Equal(t, previous.Field(i), current.Field(i))
		}
		if a, b := previous.Column(i), current.Column(i); unchanged.Has(api.ColumnCell(i)) {
			require.Zero(t, a.Compare(b), "%v and %v", a, b)
		}
	}
}

// A column with the text of a field changes with that field, and no other cell
// changes.
func TestPatchPreservesUnchangedParts(t *testing.T) {
	apply := func(fields []string, columns ...api.Value) api.Cells {
		was := envelope(api.Object{Key: "default/a", Fields: []string{"Pending", "node-1"}, Columns: []api.Value{
			{Kind: api.Integer, Int: 1}, {Kind: api.String, Text: "Pending"},
		}})
		is := envelope(api.Object{Key: "default/a", Fields: fields, Columns: columns})
		p, ok := AppendPatch(nil, was, is, api.Body{})
		require.True(t, ok)
		_, unchanged, status := Patch(p).Apply(nil, was)
		require.Nil(t, status)
		requireUnchanged(t, unchanged, was, is)
		return unchanged
	}
	one, two := api.Value{Kind: api.Integer, Int: 1}, api.Value{Kind: api.Integer, Int: 2}
	phase := func(s string) api.Value { return api.Value{Kind: api.String, Text: s} }
	require.Equal(t, api.AllCells, apply([]string{"Pending", "node-1"}, one, phase("Pending")))
	require.Equal(t, api.AllCells.WithoutColumn(0), apply([]string{"Pending", "node-1"}, two, phase("Pending")))
	unchanged := apply([]string{"Running", "node-1"}, one, phase("Running"))
	require.Equal(t, api.AllCells.WithoutField(0), unchanged)
	require.True(t, unchanged.Has(api.FieldCell(1)))
	require.False(t, unchanged.Has(api.ColumnCell(1)))
}

// A patch contains only the changed part of a text, whatever the previous text is.
func TestPatchEditsTexts(t *testing.T) {
	object := func(text string) Envelope {
		return envelope(api.Object{Key: "default/a", Fields: []string{text}, Columns: []api.Value{
			{Kind: api.String, Text: "<" + text + ">"}, {Kind: api.String, Text: text},
		}})
	}
	long := strings.Repeat("x", 300)
	texts := []string{"", "a", "aa", "aaa", "aaaa", "aaab", "baaa", "aabaa", "shop/web:1.9.9", "shop/web:1.10.9", long, long + "y" + long, "default", "é", "è"}
	for _, was := range texts {
		for _, is := range texts {
			p, ok := AppendPatch(nil, object(was), object(is), api.Body{})
			require.True(t, ok)
			e, unchanged, status := Patch(p).Apply(nil, object(was))
			require.Nil(t, status)
			require.Equal(t, object(is), e)
			requireUnchanged(t, unchanged, object(was), e)
		}
	}
	p, _ := AppendPatch(nil, object(long+"y"+long), object(long+long), api.Body{})
	require.Less(t, len(p), 40)
	_, _, status := Patch(p).Apply(nil, object("short"))
	require.EqualError(t, status, "400 ProtocolError: a patch of default/a changes cells that it does not have")
}

// A patch between texts with and without times makes the exact cell.
func TestPatchOfTextsWithTimes(t *testing.T) {
	var values []api.Value
	for _, text := range []string{"", "Started", "Started again", "f"} {
		for _, time := range []int64{0, 1_700_000_000_123, 1_700_000_060_123} {
			values = append(values, api.Value{Kind: api.String, Text: text, Time: time})
		}
	}
	object := func(v api.Value) Envelope {
		return envelope(api.Object{Key: "default/a", Fields: []string{"f"}, Columns: []api.Value{v, {Kind: api.Integer, Int: 1}}})
	}
	for _, was := range append(values, api.Value{}, api.Value{Kind: api.Integer, Int: 3, Time: 4}) {
		for _, is := range values {
			p, ok := AppendPatch(nil, object(was), object(is), api.Body{})
			require.True(t, ok)
			e, unchanged, status := Patch(p).Apply(nil, object(was))
			require.Nil(t, status)
			require.Equal(t, is, e.Column(0), "after %v", was)
			require.Equal(t, object(is), e)
			require.Equal(t, was == is, unchanged.Has(api.ColumnCell(0)), "from %v to %v", was, is)
		}
	}
}

func TestPatchOfOtherObjects(t *testing.T) {
	other := func(o api.Object) Envelope { o.Key = "default/web-1"; return envelope(o) }
	for _, c := range []Envelope{
		bareItem.Envelope,
		other(api.Object{UID: "another"}),
		other(api.Object{UID: pod2.UID()}),
		other(api.Object{UID: pod2.UID(), Fields: []string{"1", "2", "3", "4"}}),
	} {
		_, ok := AppendPatch(nil, pod2, c, api.Body{})
		require.False(t, ok, "%q", c)
		_, ok = AppendPatch(nil, c, pod2, api.Body{})
		require.False(t, ok, "%q", c)
	}
	_, _, status := webPatch.Apply(nil, bareItem.Envelope)
	require.EqualError(t, status, "400 ProtocolError: a patch of default/web-1 was applied to another object")
	_, _, status = webPatch.Apply(nil, other(api.Object{Fields: []string{"1", "2"}}))
	require.EqualError(t, status, "400 ProtocolError: a patch of default/web-1 changes cells that it does not have")
}

// Applying a patch that does not fit the previous version returns an error, regardless of
// the contents of the patch. So does applying a patch that reuses more bytes than the
// text has.
func TestPatchForAnotherBaseIsRefused(t *testing.T) {
	was := envelope(api.Object{Key: "default/a", Fields: []string{"abcdef"}, Columns: []api.Value{{Kind: api.Integer, Int: 1}}})
	for name, change := range map[string][]byte{
		"an integer for a field":           {0, byte(api.Integer), 2},
		"a field that repeats a field":     {0, sameAsField},
		"a column that repeats none":       {1, sameAsField + 1},
		"an edit of a number":              {1, editedText, 0, 0, 1, 'x'},
		"an edit that keeps too much":      {0, editedText, 7, 0, 0},
		"an edit that keeps a byte twice":  {0, editedText, 4, 3, 0},
		"an edit that keeps more than all": {0, editedText, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0},
		"a cell that there is not":         {2, byte(api.Null)},
	} {
		p := append(appendBytes(nil, "default/a"), 1)
		p = append(append(p, change...), byte(api.NoBody))
		_, err := Patch(p).validate()
		require.Nil(t, err, name)
		e, _, status := Patch(p).Apply(nil, was)
		require.NotNil(t, status, "%s became %x", name, e)
	}
	twice := append(appendBytes(nil, "default/a"), 2, 1, byte(api.Null), 0, byte(api.Null), byte(api.NoBody))
	_, _, status := Patch(twice).Apply(nil, was)
	require.NotNil(t, status, "the same cell twice")
	_, ok := AppendPatch(nil, was, envelope(api.Object{Key: "default/a", Columns: []api.Value{{Kind: api.Integer}, {Kind: api.Integer}}}), api.Body{})
	require.False(t, ok, "cells of other kinds")
}

// FuzzPatch applies any patch to any envelope. The result must be a valid envelope or an
// error. A patch between two envelopes must convert one to the other.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(webPatch), []byte(pod(jsonBody)), []byte(pod2))
	f.Add([]byte(barePatch), []byte(bareItem.Envelope), []byte(bareItem.Envelope))
	untimed := envelope(api.Object{Key: "default/web-1", Fields: []string{"web-1", "Started"}, Columns: []api.Value{{}, {Kind: api.String, Text: "Started"}, {}, {}}})
	f.Add([]byte(patch(untimed, timedItem.Envelope, api.Body{})), []byte(untimed), []byte(timedItem.Envelope))
	f.Fuzz(func(t *testing.T, patch, before, after []byte) {
		previous, current := Envelope(before), Envelope(after)
		if previous.Validate() != nil {
			return
		}
		p := Patch(patch)
		if _, err := p.validate(); err == nil {
			e, unchanged, status := p.Apply(nil, previous)
			if status == nil && e.Validate() != nil {
				t.Fatalf("%x applied to %x is no envelope: %x", patch, before, e)
			}
			if status == nil {
				requireUnchanged(t, unchanged, previous, e)
			}
		}
		if current.Validate() != nil {
			return
		}
		b, ok := AppendPatch(nil, previous, current, current.Body())
		if !ok {
			return
		}
		p = Patch(b)
		if _, err := p.validate(); err != nil {
			t.Fatalf("patch from %x to %x: %v", before, after, err)
		}
		e, unchanged, status := p.Apply(nil, previous)
		requireUnchanged(t, unchanged, previous, e)
		if status != nil {
			t.Fatalf("patch from %x to %x: %v", before, after, status)
		}
		if e.Key() != current.Key() || e.UID() != current.UID() {
			t.Fatalf("from %x to %x came %x", before, after, e)
		}
		for i := range 5 {
			if e.Field(i) != current.Field(i) {
				t.Fatalf("field %d: from %x to %x came %x", i, before, after, e)
			}
		}
	})
}
