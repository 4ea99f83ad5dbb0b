package api

// Scope is the part of a resource that a request covers and needs authorization
// for. The zero Scope covers every object.
type Scope struct {
	Namespace string // "" means all
	Name      string // "" means all
}

// Whole reports whether the scope covers every object of the resource.
func (s Scope) Whole() bool { return s == Scope{} }

// Has reports whether the scope covers the object.
func (s Scope) Has(key Key) bool {
	return key.InNamespace(s.Namespace) && (s.Name == "" || key.Name() == s.Name)
}
