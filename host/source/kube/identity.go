package kube

import (
	"bytes"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// identityFields are read from every object, in addition to its key and version.
var identityFields = []string{"apiVersion", "kind"}

// identity reads the identity of objects. It belongs to one stream.
type identity struct {
	scanner    *objectjson.Scanner
	apiVersion string
	kind       string
}

// object is an object of a list or a watch. Its value may alias the input.
type object struct {
	key   api.Key
	rv    api.ResourceVersion
	value []byte
	// foreign is the kind of an object that is not of the resource, such as a
	// Table, and empty otherwise.
	foreign string
}

// read returns the key and the version. It adds missing apiVersion and kind, which
// the items of a typed list lack.
func (id *identity) read(raw []byte) (object, error) {
	o, err := id.scanner.Scan(raw, objectjson.Options{})
	if err != nil {
		return object{}, err
	}
	// The results of a scanner share one buffer.
	found := object{key: api.Key(strings.Clone(string(o.Key))), rv: o.ResourceVersion, value: raw}
	switch apiVersion, kind := o.Fields[0], o.Fields[1]; {
	case apiVersion == "" && kind == "":
		found.value = id.complete(raw)
	case apiVersion != id.apiVersion || kind != id.kind:
		found.foreign = strings.Clone(apiVersion + " " + kind)
	}
	return found, nil
}

func (id *identity) complete(raw []byte) []byte {
	head := `{"kind":"` + id.kind + `","apiVersion":"` + id.apiVersion + `",` // an object with a key has more members
	start := bytes.IndexByte(raw, '{') + 1
	value := make([]byte, 0, len(head)+len(raw)-start)
	return append(append(value, head...), raw[start:]...)
}
