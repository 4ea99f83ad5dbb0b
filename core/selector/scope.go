package selector

import "github.com/watchglass/watchglass/core/api"

// ScopeOf returns the scope of a request. Authorization is decided by it, and
// nothing derived from an object outside of it may reach the client. As in
// kube-apiserver, a selector that requires one metadata.name narrows the scope to
// that name, and one that requires a metadata.namespace narrows nothing: only the
// request's own namespace does.
func ScopeOf(namespace string, fields Fields) api.Scope {
	name, _ := fields.RequiresExactMatch(nameField)
	return api.Scope{Namespace: namespace, Name: name}
}
