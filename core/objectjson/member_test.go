package objectjson_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/objectjson"
)

func TestMemberReturnsTheLastValue(t *testing.T) {
	for _, c := range []struct{ document, name, want string }{
		{`{"kind":"Pod","metadata":{"name":"a"}}`, "metadata", `{"name":"a"}`},
		{` { "kind" : "Pod" } `, "kind", `"Pod"`},
		{`{"a":{"kind":"Pod"}}`, "kind", ""},
		{`{"kind":1,"kind":2}`, "kind", "2"},
		{`{"k\u0069nd":3}`, "kind", "3"},
		{`{}`, "kind", ""},
		{`[]`, "kind", ""},
		{``, "kind", ""},
		{`{"kind":`, "kind", ""},
		{`{"kind":"Pod"`, "kind", ""},
		{`{"kind"}`, "kind", ""},
	} {
		assert.Equal(t, c.want, string(objectjson.Member([]byte(c.document), c.name)), c.document)
	}
}
