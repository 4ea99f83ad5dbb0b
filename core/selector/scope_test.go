package selector_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

func TestScopeOfARequest(t *testing.T) {
	for _, c := range []struct {
		namespace, fields string
		want              api.Scope
	}{
		{"", "", api.Scope{}},
		{"a", "", api.Scope{Namespace: "a"}},
		{"a", "metadata.name=x", api.Scope{Namespace: "a", Name: "x"}},
		{"", "metadata.name==x", api.Scope{Name: "x"}},
		{"a", "spec.nodeName=n,metadata.name=x", api.Scope{Namespace: "a", Name: "x"}},
		{"a", "metadata.name=x,metadata.name=y", api.Scope{Namespace: "a", Name: "x"}},
		{"a", "metadata.name!=x", api.Scope{Namespace: "a"}},
		{"a", "metadata.name=", api.Scope{Namespace: "a"}},
		{"", "metadata.namespace=a", api.Scope{}},
		{"b", "metadata.namespace=a", api.Scope{Namespace: "b"}},
		{"a", "metadata.name=x,", api.Scope{Namespace: "a", Name: "x"}},
	} {
		got := selector.ScopeOf(c.namespace, parseFields(t, c.fields))
		assert.Equal(t, c.want, got, "%q %q", c.namespace, c.fields)
	}
}

func TestScopeCoversItsObjects(t *testing.T) {
	for _, c := range []struct {
		scope api.Scope
		has   []api.Key
		lacks []api.Key
	}{
		{api.Scope{}, []api.Key{"a/x", "node"}, nil},
		{api.Scope{Namespace: "a"}, []api.Key{"a/x"}, []api.Key{"ab/x", "b/a", "a"}},
		{api.Scope{Name: "x"}, []api.Key{"a/x", "b/x", "x"}, []api.Key{"x/a", "a/xx", "a/yx"}},
		{api.Scope{Namespace: "a", Name: "x"}, []api.Key{"a/x"}, []api.Key{"b/x", "a/y", "x"}},
	} {
		for _, key := range c.has {
			assert.True(t, c.scope.Has(key), "%+v %s", c.scope, key)
		}
		for _, key := range c.lacks {
			assert.False(t, c.scope.Has(key), "%+v %s", c.scope, key)
		}
	}
}
