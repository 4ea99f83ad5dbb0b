package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
)

// An engine that reads Kubernetes itself has no connector: it hands over one
// object after the other. All else it says with the frames' methods.

// Object takes an object, in the list while one is under way. An error means
// that it came when nothing was asked for.
func (r *Reflector) Object(p *cacher.Put) error {
	if r.phase == listing {
		r.asked = r.now
		r.cacher.ListObject(p) // it has no base that could be missing
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

// Removed takes a deletion.
func (r *Reflector) Removed(key api.Key, rv api.ResourceVersion) error {
	if err := r.expected("a deletion"); err != nil {
		return err
	}
	r.asked = r.now
	r.Events++
	r.cacher.Delete(key, rv, r.now)
	return nil
}

// Missed says why there is no progress although nothing has failed that ends the
// subscription: the reason to give if that goes on until the collection is stale.
func (r *Reflector) Missed(why *api.Status) { r.missed = why }

// Retry does not wait any longer to subscribe again.
func (r *Reflector) Retry() {
	if r.phase == waiting {
		r.subscribe()
	}
}
