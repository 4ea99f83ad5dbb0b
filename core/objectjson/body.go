package objectjson

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// editor copies a document and omits parts of it.
type editor struct {
	raw    []byte
	out    []byte
	copied int // all bytes of raw before this offset were copied to out or cut
}

// copyTo copies the document up to the offset. An offset before the end of the
// copied part has no effect.
//
//go:noinline
func (e *editor) copyTo(offset int) {
	if offset > e.copied {
		e.out = append(e.out, e.raw[e.copied:offset]...)
		e.copied = offset
	}
}

// cutMember removes one member of an object and an adjacent comma. The member begins at
// the offset "name" and ends at the offset "end". The offset "kept" is the end of the
// last preserved member before the removed one, or -1. The offset "following" is the
// beginning of the next member, or of the closing brace.
func (e *editor) cutMember(name, end, kept, following int) {
	if kept >= 0 {
		e.copyTo(kept)
		e.copied = end
		return
	}
	e.copyTo(name)
	e.copied = following
}

// SetResourceVersion appends body to dst with metadata.resourceVersion set to rv, as the
// first member of metadata. If metadata is missing or null, SetResourceVersion adds it.
// Stored bodies omit the version, but readers need it. dst must not overlap body. If body
// is invalid, SetResourceVersion returns dst unchanged and a [*SyntaxError].
func SetResourceVersion(dst, body []byte, rv api.ResourceVersion) ([]byte, error) {
	start := skipSpace(body, 0)
	if at(body, start) != '{' {
		return dst, syntaxError(body, start, wantObject)
	}
	e := editor{raw: body, out: dst, copied: start}
	end, found, f := e.stampDocument(start, rv)
	if f == sound && skipSpace(body, end) < len(body) {
		end, f = skipSpace(body, end), wantEnd
	}
	if f != sound {
		return dst, syntaxError(body, end, f)
	}
	if !found {
		e.stampNew(start, rv)
	}
	e.copyTo(end)
	return e.out, nil
}

// stampDocument sets the version in every metadata member of the object at i. Decoders
// use only the last of several such members, so it is correct to change all of them.
func (e *editor) stampDocument(i int, rv api.ResourceVersion) (end int, found bool, f fault) {
	i, more := open(e.raw, i, '}')
	for more {
		nameEnd, value, f := member(e.raw, i)
		if f != sound {
			return value, found, f
		}
		if sameText(e.raw[i+1:nameEnd-1], "metadata") {
			found = true
			i, f = e.stampMetadata(value, rv)
		} else {
			i, f = skipValue(e.raw, value, 1)
		}
		if f != sound {
			return i, found, f
		}
		if i, more, f = next(e.raw, i, '}'); f != sound {
			return i, found, f
		}
	}
	return i, found, sound
}

// stampMetadata writes the version into the metadata object at i, or replaces null with a
// new object.
func (e *editor) stampMetadata(i int, rv api.ResourceVersion) (int, fault) {
	switch at(e.raw, i) {
	case '{':
		return e.stampObject(i, rv)
	case 'n':
		end, f := skipWord(e.raw, i, "null")
		e.copyTo(i)
		e.out = append(appendVersion(append(e.out, '{'), rv), '}')
		e.copied = end
		return end, f
	}
	return i, wantObject
}

func (e *editor) stampObject(i int, rv api.ResourceVersion) (int, fault) {
	e.copyTo(i + 1)
	e.out = appendVersion(e.out, rv)
	kept := -1
	i, more := open(e.raw, i, '}')
	for more {
		name := i
		nameEnd, value, f := member(e.raw, i)
		if f != sound {
			return value, f
		}
		end, f := skipValue(e.raw, value, 2)
		if f != sound {
			return end, f
		}
		if i, more, f = next(e.raw, end, '}'); f != sound {
			return i, f
		}
		if sameText(e.raw[name+1:nameEnd-1], "resourceVersion") {
			e.cutMember(name, end, kept, followingMember(i, more))
			continue
		}
		if kept < 0 {
			e.out = append(e.out, ',') // the preserved member is the first one after the version
		}
		kept = end
	}
	return i, sound
}

// stampNew inserts a metadata member at the front of the object at start. No part of the
// object may have been copied yet.
func (e *editor) stampNew(start int, rv api.ResourceVersion) {
	first, more := open(e.raw, start, '}')
	e.out = appendVersion(append(e.out, `{"metadata":{`...), rv)
	e.out = append(e.out, '}')
	if more {
		e.out = append(e.out, ',')
	}
	e.copied = followingMember(first, more)
}

// followingMember converts the results of next to the argument "following" of cutMember.
func followingMember(i int, more bool) int {
	if more {
		return i
	}
	return i - 1 // the closing brace
}

//go:noinline
func appendVersion(dst []byte, rv api.ResourceVersion) []byte {
	dst = append(dst, `"resourceVersion":"`...)
	return append(strconv.AppendUint(dst, uint64(rv), 10), '"')
}
