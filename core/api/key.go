package api

import "strings"

// Key names one object inside a resource: "namespace/name", or just "name" for
// a cluster-scoped one (rule K16). Keys order as text, which is the order of
// etcd and so of every list (rule C41).
type Key string

// NewKey joins namespace and name; an empty namespace means cluster-scoped.
func NewKey(namespace, name string) Key {
	if namespace == "" {
		return Key(name)
	}
	return Key(namespace + "/" + name)
}

// Namespace is the part before the slash, or empty.
func (k Key) Namespace() string {
	if i := strings.IndexByte(string(k), '/'); i >= 0 {
		return string(k[:i])
	}
	return ""
}

// Name is the part after the slash, or the whole key when there is none.
func (k Key) Name() string {
	return string(k[strings.IndexByte(string(k), '/')+1:])
}

// InNamespace reports whether the key lies in the namespace. Every key lies in
// the empty one, which stands for all namespaces. It compares at the segment
// boundary (rule W30): "a/b" is in "a", "ab/c" is not.
func (k Key) InNamespace(namespace string) bool {
	return namespace == "" ||
		len(k) > len(namespace) && k[len(namespace)] == '/' && string(k[:len(namespace)]) == namespace
}
