package api

import "strings"

// Key names one object inside a resource: "namespace/name", or "name" for a
// cluster-scoped object (rule K16). Keys sort as strings, which is the order of
// etcd and of every list (rule C41).
type Key string

// NewKey joins namespace and name. An empty namespace means cluster-scoped.
func NewKey(namespace, name string) Key {
	if namespace == "" {
		return Key(name)
	}
	return Key(namespace + "/" + name)
}

// Namespace returns the part before the slash, or "".
func (k Key) Namespace() string {
	if i := strings.IndexByte(string(k), '/'); i >= 0 {
		return string(k[:i])
	}
	return ""
}

// Name returns the part after the slash, or the whole key if it has no slash.
//
//go:noinline
func (k Key) Name() string {
	return string(k[strings.IndexByte(string(k), '/')+1:])
}

// InNamespace reports whether the key belongs to the namespace. The empty
// namespace contains every key. The comparison stops at the slash (rule W30):
// "a/b" is in "a", but "ab/c" is not.
func (k Key) InNamespace(namespace string) bool {
	return namespace == "" ||
		len(k) > len(namespace) && k[len(namespace)] == '/' && string(k[:len(namespace)]) == namespace
}
