package kubewatch

import (
	"bytes"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

// Object is an object of a list or a watch. It is valid until the handler returns.
type Object struct {
	api.Object
	// Raw is the JSON that the server sent.
	Raw []byte
	// head is the JSON of the kind and the apiVersion. It is empty unless Raw and Body
	// lack both.
	head    string
	foreign string // apiVersion and kind of the object if they are not those of the schema, as for a Table
}

// Typed returns the given JSON, which is Raw or the data of Body, with kind and
// apiVersion. Typed inserts the two members if they are missing, as in the items of a
// typed list.
func (o *Object) Typed(json []byte) []byte {
	if o.head == "" {
		return json
	}
	start := bytes.IndexByte(json, '{') + 1
	typed := make([]byte, 0, len(o.head)+len(json)-start)
	return append(append(typed, o.head...), json[start:]...)
}

// read scans an object. The result is valid until the next call.
func (c *Client) read(raw []byte) (*Object, error) {
	o := &c.object
	var err error
	o.Object, err = c.scanner.Scan(raw, objectjson.Options{Unchecked: !c.cfg.Validate, Borrowed: true})
	if err != nil {
		return nil, err
	}
	o.Raw, o.head, o.foreign = raw, "", ""
	declared := len(c.schema.Fields)
	apiVersion, kind := o.Fields[declared], o.Fields[declared+1]
	o.Fields = o.Fields[:declared]
	switch {
	case apiVersion == "" && kind == "":
		// The trailing comma is valid, because an object with a key has more members.
		o.head = `{"kind":"` + c.schema.Kind + `","apiVersion":"` + c.schema.Resource.APIVersion() + `",`
	case apiVersion != c.schema.Resource.APIVersion() || kind != c.schema.Kind:
		o.foreign = apiVersion + " " + kind
	}
	return o, nil
}

// Versioned returns an error for an object that has no version.
func (o *Object) Versioned() error {
	if o.ResourceVersion == 0 {
		return broken("object " + lite.Quote(string(o.Key)) + " has no resourceVersion")
	}
	return nil
}
