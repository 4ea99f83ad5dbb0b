package api

import "strings"

// Flags are properties of an object that the core uses without decoding its body.
type Flags uint8

const (
	// Immutable reports that the object sets `immutable: true` (ConfigMaps,
	// Secrets).
	Immutable Flags = 1 << iota
	// FinalStateUnknown marks a deletion that a relist discovered. The event contains
	// the last version that the cacher knew, which may not be the last one that
	// existed.
	FinalStateUnknown
	// EndOfInitialEvents marks the bookmark that ends the initial events of a
	// watch (rule W23).
	EndOfInitialEvents
)

// Label is one label of an object.
type Label struct{ Key, Value string }

// Labels is a label set, sorted by key. Keys are unique.
//
// A source or connector prepends a label with an empty key to the labels of an object
// that has an owner. The value of this label is the text of the [Owner]. Kubernetes does
// not allow empty keys. Most objects of one owner have equal labels and share one label
// set, so the owner takes no memory per object.
type Labels []Label

// OwnerText returns the text of the owner, or "" if the set has none.
func (l Labels) OwnerText() string {
	if len(l) > 0 && l[0].Key == "" {
		return l[0].Value
	}
	return ""
}

// Owner returns the UID of the object's controller, or of the first owner reference if
// there is no controller. It returns "" for an object without an owner.
func (l Labels) Owner() string { return ParseOwner(l.OwnerText(), "").UID }

// WithoutOwner returns the labels without the text of the owner.
func (l Labels) WithoutOwner() Labels {
	if len(l) > 0 && l[0].Key == "" {
		return l[1:]
	}
	return l
}

// Get returns the value of the label and whether the label is present.
func (l Labels) Get(key string) (value string, ok bool) {
	for i := range l {
		if l[i].Key == key {
			return l[i].Value, true
		}
	}
	return "", false
}

// String returns the labels as "a=b,c=d".
func (l Labels) String() string {
	var b strings.Builder
	for i, label := range l {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(label.Key)
		b.WriteByte('=')
		b.WriteString(label.Value)
	}
	return b.String()
}

// Codec is the encoding of a body. The core never decodes bodies; the program
// that embeds it supplies a decoder.
type Codec uint8

const (
	// NoBody means metadata only: the body was not requested or was withheld.
	NoBody Codec = iota
	// JSON is the object's plain JSON.
	JSON
	// Packed is the object's JSON as one compressed block of package body. The block
	// refers to the dictionary of the object's resource.
	Packed
	// Delta is the difference from the object's base body, as one compressed
	// block. Decoding it requires the plain JSON of the base and the dictionary.
	Delta
)

// Body is an object's encoded JSON without metadata.resourceVersion. The resource version
// is stored beside the body, and inserted again when the body is read (rule W28).
type Body struct {
	Codec Codec
	Data  []byte
}

// Object is one version of an object.
//
// Fields and Columns follow the order of [Schema.Fields] and [Schema.Columns]. The
// strings and bytes of an Object may alias the buffer that the Object was read from. Copy
// them if they must outlive that buffer.
type Object struct {
	Key             Key
	UID             string
	ResourceVersion ResourceVersion
	Flags           Flags
	Labels          Labels
	Fields          []string
	Columns         []Value
	Body            Body
}
