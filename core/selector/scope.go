package selector

import "github.com/watchglass/watchglass/core/api"

// ScopeOf returns the scope of a request, which authorization checks. The client must not
// receive data derived from objects outside this scope. As in kube-apiserver, a selector
// that requires one metadata.name narrows the scope to that name. A selector on
// metadata.namespace does not narrow the scope; only the namespace of the request does.
func ScopeOf(namespace string, fields Fields) api.Scope {
	name, _ := fields.RequiresExactMatch(nameField)
	return api.Scope{Namespace: namespace, Name: name}
}
