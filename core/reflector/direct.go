package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
)

// Direct is the input of a reflector without a connector, in an engine that reads
// Kubernetes directly. Objects arrive one by one, and all other input arrives as frames.
type Direct struct{ reflector *Reflector }

// Direct returns the input for a reflector without a connector.
func (r *Reflector) Direct() Direct { return Direct{r} }

// Object adds an object to the list in progress or, without a list, applies it to the
// state. An error means that no object was expected.
func (d Direct) Object(p *cacher.Update) error {
	r := d.reflector
	if r.phase == listing {
		r.asked = r.now
		r.cacher.Listing().Object(p) // cannot fail: the object has no base
		return nil
	}
	if err := d.expect("a change"); err != nil {
		return err
	}
	r.cacher.Apply(p, r.now)
	return nil
}

// Removed applies a deletion. An error means that no deletion was expected.
func (d Direct) Removed(key api.Key, rv api.ResourceVersion) error {
	if err := d.expect("a deletion"); err != nil {
		return err
	}
	d.reflector.cacher.Delete(key, rv, d.reflector.now)
	return nil
}

func (d Direct) expect(what string) error {
	r := d.reflector
	if err := r.expected(what); err != nil {
		return err
	}
	r.asked = r.now
	r.Events++
	return nil
}

// Missed records why there is no progress although the subscription has not
// failed. State reports the reason once the collection is stale.
func (d Direct) Missed(why *api.Status) { d.reflector.missed = why }
