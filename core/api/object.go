package api

import "strings"

// Flags are facts about an object that the machinery acts on without its body.
type Flags uint8

const (
	// Immutable: the object declares `immutable: true` (ConfigMaps, Secrets).
	Immutable Flags = 1 << iota
	// FinalStateUnknown: a deletion found out by a relist; the content is the
	// last one known, not necessarily the last one there was.
	FinalStateUnknown
	// EndOfInitialEvents: a bookmark that ends the initial events of a watch
	// (rule W23).
	EndOfInitialEvents
)

// Label is one label of an object.
type Label struct{ Key, Value string }

// Labels is a label set, sorted by key, each key once.
type Labels []Label

// Get returns the value of a label and whether it is present.
func (l Labels) Get(key string) (value string, ok bool) {
	for i := range l {
		if l[i].Key == key {
			return l[i].Value, true
		}
	}
	return "", false
}

// String is "a=b,c=d".
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

// Codec says how a body is encoded. The core never decodes a body; the host
// and the guest plug in a decoder.
type Codec uint8

const (
	// NoBody: metadata only. The body was not asked for or was withheld.
	NoBody Codec = iota
	// JSON: the object's JSON as it is.
	JSON
	// Packed: the object's JSON as one block of package bodies, which refers to the
	// dictionary of its resource.
	Packed
	// Delta: the difference from the object's base body, as one block that refers to
	// the base's plain JSON and to the dictionary. It means nothing without the base.
	Delta
)

// Body is an object's JSON, encoded by Codec, without
// metadata.resourceVersion: the version of a body is that of the event that
// carries it, and whoever decodes a body puts it back in (rule W28).
type Body struct {
	Codec Codec
	Data  []byte
}

// Object is one version of an object as the watch machinery sees it.
//
// Fields and Columns follow the order of [Schema.Fields] and [Schema.Columns].
// An Object is a view: its strings and bytes may alias the buffer it was read
// from, and whoever keeps one past that buffer's life copies it.
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
