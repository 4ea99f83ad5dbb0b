package objcache

import "slices"

// Registrant is a user of objects, such as a pod. A recreated pod is a different
// registrant.
type Registrant struct{ Namespace, Name, UID string }

// Registrations manages the references of registrants (rule K14). Each version of a
// registrant names all objects that it uses, and replaces the references of the previous
// version.
type Registrations struct {
	cache *Cache
	uses  map[Registrant][]ID // the objects that the last version uses
}

// NewRegistrations returns Registrations that add references to the cache. The owners of
// these references are the UIDs of the registrants.
func NewRegistrations(c *Cache) *Registrations {
	return &Registrations{cache: c, uses: map[Registrant][]ID{}}
}

// Register adds a reference to each object that the new version uses, and then drops the
// references of the previous version. In this order, an object that both versions use
// stays loaded. A duplicate in the argument uses adds no further reference.
func (r *Registrations) Register(who Registrant, uses []ID) {
	var now []ID
	for _, id := range uses {
		if !slices.Contains(now, id) && r.cache.Add(id, who.UID) == nil {
			now = append(now, id)
		}
	}
	r.drop(who)
	r.uses[who] = now
}

// Unregister drops the references of the registrant's last version.
func (r *Registrations) Unregister(who Registrant) {
	r.drop(who)
	delete(r.uses, who)
}

func (r *Registrations) drop(who Registrant) {
	for _, id := range r.uses[who] {
		r.cache.Remove(id, who.UID)
	}
}
