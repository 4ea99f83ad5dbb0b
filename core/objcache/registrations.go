package objcache

import "slices"

// Registrant is who uses objects, such as a pod. One that was deleted and
// created anew is another.
type Registrant struct{ Namespace, Name, UID string }

// Registrations keeps references for registrants that come in versions
// (rule K14): each version names all objects it uses, and the references of the
// one before are given up.
type Registrations struct {
	cache *Cache
	uses  map[Registrant][]ID // of the last version
}

// NewRegistrations keeps its references in the cache, owned by the registrants'
// UIDs.
func NewRegistrations(c *Cache) *Registrations {
	return &Registrations{cache: c, uses: map[Registrant][]ID{}}
}

// Register takes a reference to each object that the registrant's new version
// uses, and then gives up those of the version before. In that order, so that
// an object used by both is never let go. An object named twice counts once.
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

// Unregister gives up the references of the last version.
func (r *Registrations) Unregister(who Registrant) {
	r.drop(who)
	delete(r.uses, who)
}

func (r *Registrations) drop(who Registrant) {
	for _, id := range r.uses[who] {
		r.cache.Remove(id, who.UID)
	}
}
