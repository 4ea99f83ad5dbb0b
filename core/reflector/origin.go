package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
)

// An engine that reads Kubernetes directly has no connector. It passes objects
// one by one to Object and Removed, and uses the methods for frames for
// everything else.

// Object processes an object, in the list if one is in progress. An error means
// that no object was expected.
func (r *Reflector) Object(p *cacher.Update) error {
	if r.phase == listing {
		r.asked = r.now
		r.cacher.Listing().Object(p) // cannot fail: the object has no base
		return nil
	}
	if err := r.expected("a change"); err != nil {
		return err
	}
	r.asked = r.now
	r.Events++
	r.cacher.Apply(p, r.now)
	return nil
}

// Removed processes a deletion.
func (r *Reflector) Removed(key api.Key, rv api.ResourceVersion) error {
	if err := r.expected("a deletion"); err != nil {
		return err
	}
	r.asked = r.now
	r.Events++
	r.cacher.Delete(key, rv, r.now)
	return nil
}

// Missed records why there is no progress although the subscription has not
// failed. State reports the reason once the collection is stale.
func (r *Reflector) Missed(why *api.Status) { r.missed = why }

// Retry ends the delay before the next subscription.
func (r *Reflector) Retry() {
	if r.phase == waiting {
		r.subscribe()
	}
}
