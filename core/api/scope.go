package api

// Scope is the part of a resource that a request covers and is authorized for:
// one namespace or all, and one name or all. The zero Scope covers everything.
type Scope struct {
	Namespace string // empty for all
	Name      string // empty for all
}

// Whole reports whether the scope covers every object of the resource.
func (s Scope) Whole() bool { return s == Scope{} }

// Has reports whether the scope covers an object.
func (s Scope) Has(key Key) bool {
	return key.InNamespace(s.Namespace) && (s.Name == "" || key.Name() == s.Name)
}
