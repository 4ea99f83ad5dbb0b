package kubeapi

import (
	"encoding/json"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// encoder encodes the objects of one response: as complete objects, as metadata, or as
// rows of a table.
type encoder struct {
	schema  *api.Schema
	as      string
	include include
	now     int64 // milliseconds, for the ages in a table
	headed  bool  // the column definitions have been written; a watch sends them only in its first event
}

const metaVersion = metaGroup + "/v1"

// appendSingle appends one object as a separate document.
func (enc *encoder) appendSingle(dst []byte, o Object) []byte {
	switch enc.as {
	case asTable:
		dst = enc.appendTableHead(dst, listMeta{ResourceVersion: versionOf(o.JSON())})
		dst = enc.appendRow(dst, o, enc.include)
		return append(dst, "]}"...)
	case asMetadata:
		return appendMetadata(dst, o.JSON())
	}
	return enc.appendObject(dst, o.JSON())
}

// appendObject appends an object, and adds its apiVersion and kind if they are missing.
// Clients need both to decode an object outside a list.
func (enc *encoder) appendObject(dst, object []byte) []byte {
	hasKind, hasVersion := objectjson.Member(object, "kind") != nil, objectjson.Member(object, "apiVersion") != nil
	body := object
	for len(body) > 0 && body[0] != '{' {
		body = body[1:]
	}
	if hasKind && hasVersion || len(body) == 0 {
		return append(dst, object...)
	}
	dst = append(dst, '{')
	if !hasKind {
		dst = append(appendText(append(dst, `"kind":`...), enc.schema.Kind), ',')
	}
	if !hasVersion {
		dst = append(appendText(append(dst, `"apiVersion":`...), enc.schema.Resource.APIVersion()), ',')
	}
	return append(dst, body[1:]...) // the comma is valid JSON, because every object has more members, such as metadata
}

// appendMetadata appends an object as PartialObjectMetadata (rule P13).
func appendMetadata(dst, object []byte) []byte {
	dst = append(dst, `{"kind":"`+asMetadata+`","apiVersion":"`+metaVersion+`","metadata":`...)
	metadata := objectjson.Member(object, "metadata")
	if metadata == nil {
		metadata = []byte("{}")
	}
	return append(append(dst, metadata...), '}')
}

// listMeta contains the metadata of a list (rules P16, P17).
type listMeta struct {
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Continue        string `json:"continue,omitempty"`
	Remaining       uint64 `json:"remainingItemCount,omitempty"`
}

// appendListHead appends the part of a list before its first item.
func (enc *encoder) appendListHead(dst []byte, meta listMeta) []byte {
	switch enc.as {
	case asTable:
		return enc.appendTableHead(dst, meta)
	case asMetadataList:
		dst = append(dst, `{"kind":"`+asMetadataList+`","apiVersion":"`+metaVersion+`"`...)
	default:
		dst = appendText(append(dst, `{"kind":`...), enc.schema.Kind+"List")
		dst = appendText(append(dst, `,"apiVersion":`...), enc.schema.Resource.APIVersion())
	}
	dst = appendJSON(append(dst, `,"metadata":`...), meta)
	return append(dst, `,"items":[`...)
}

// appendItem appends one item of a list.
func (enc *encoder) appendItem(dst []byte, o Object) []byte {
	switch enc.as {
	case asTable:
		return enc.appendRow(dst, o, enc.include)
	case asMetadataList:
		return appendMetadata(dst, o.JSON())
	}
	return append(dst, o.JSON()...)
}

// appendEvent appends a watch event and a newline (rule P2).
func (enc *encoder) appendEvent(dst []byte, e *Event) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, e.Type.String()...)
	dst = append(dst, `","object":`...)
	switch e.Type {
	case api.Error:
		dst = AppendStatus(dst, e.Status)
	case api.Bookmark:
		dst = enc.appendBookmark(dst, e)
	default:
		dst = enc.appendSingle(dst, e.Object)
	}
	return append(dst, "}\n"...)
}

// appendBookmark appends an object of the requested kind that contains only a version (rule
// P8). The bookmark that ends the initial events carries an annotation. The row of that
// bookmark therefore includes the metadata, even with includeObject=None (rule P12).
func (enc *encoder) appendBookmark(dst []byte, e *Event) []byte {
	include := enc.include
	if e.InitialEventsEnd && include == includeNone {
		enc.include = includeMetadata
	}
	dst = enc.appendSingle(dst, bookmark{enc.schema, e})
	enc.include = include
	return dst
}

// bookmark is the Object that a bookmark event sends. It contains only a resource version.
type bookmark struct {
	schema *api.Schema
	event  *Event
}

func (b bookmark) Key() api.Key         { return "" }
func (b bookmark) Column(int) api.Value { return api.Value{} }
func (b bookmark) JSON() []byte {
	dst := appendText([]byte(`{"kind":`), b.schema.Kind)
	dst = appendText(append(dst, `,"apiVersion":`...), b.schema.Resource.APIVersion())
	dst = append(dst, `,"metadata":{"resourceVersion":"`+b.event.ResourceVersion.String()+`"`...)
	if b.event.InitialEventsEnd {
		dst = append(dst, `,"annotations":{"k8s.io/initial-events-end":"true"}`...)
	}
	return append(dst, "}}"...)
}

// versionOf returns the metadata.resourceVersion of an object, or "" if it is missing.
func versionOf(object []byte) string {
	var version string
	if text := objectjson.Member(objectjson.Member(object, "metadata"), "resourceVersion"); text != nil {
		json.Unmarshal(text, &version) // the backend has set it to a string, so decoding cannot fail
	}
	return version
}

func appendJSON(dst []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // impossible for strings and numbers
	}
	return append(dst, text...)
}

func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return appendJSON(dst, text)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}
