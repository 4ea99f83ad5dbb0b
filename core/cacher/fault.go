package cacher

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
)

// Fault is an object whose newest version cannot be served. The last good
// version, if there was one, stays (rule C53).
type Fault struct {
	Key             api.Key
	ResourceVersion api.ResourceVersion
	Status          *api.Status
}

// maxFaults bounds what is remembered; a collection with more broken objects
// than that forgets the oldest.
const maxFaults = 1000

// faults keeps the known faults in the order they came, so that readers who
// come later are told as well. Each has a number that grows for ever.
type faults struct {
	list []Fault
	next int // number of the next fault; the last in list has next-1
}

func (f *faults) add(fault Fault) {
	f.drop(fault.Key, fault.ResourceVersion, fault.TakenBack())
	fault.Key = api.Key(strings.Clone(string(fault.Key)))
	f.list = append(f.list, fault)
	f.next++
	if len(f.list) > maxFaults {
		f.list = f.list[1:]
	}
}

// clear forgets the fault of a key that is known to be whole, or gone, at rv,
// and reports whether there was one.
func (f *faults) clear(key api.Key, rv api.ResourceVersion) bool { return f.drop(key, rv, false) }

// drop does so, and with all also for what was taken back before.
func (f *faults) drop(key api.Key, rv api.ResourceVersion, all bool) bool {
	before := len(f.list)
	if before > 0 {
		f.list = slices.DeleteFunc(f.list, func(x Fault) bool {
			return x.Key == key && x.ResourceVersion <= rv && (all || !x.TakenBack())
		})
	}
	return len(f.list) < before
}

// since reports whether versions of an object after rv could not be read.
func (f *faults) since(key api.Key, rv api.ResourceVersion) bool {
	return slices.ContainsFunc(f.list, func(x Fault) bool { return x.Key == key && x.ResourceVersion > rv })
}

// mend forgets the fault of a key that was replaced or deleted at rv, and takes
// it back: a reader may hold a version of before the fault that does not lead
// to the new one, and no event would tell it.
func (c *Cacher) mend(key api.Key, rv api.ResourceVersion, how string) {
	if len(c.faults.list) > 0 && c.faults.clear(key, rv) {
		c.faults.add(Fault{key, rv, api.NotFound(string(key) + " was " + how)})
		c.wakeEveryone()
	}
}

// Fault records that the version rv of key cannot be served. It is forgotten
// when the key changes again or a list shows it whole. It does not move the
// resource version: a connector names its faults out of turn, and a reader that
// took one for progress would take the changes before it for repetitions.
func (c *Cacher) Fault(key api.Key, rv api.ResourceVersion, status *api.Status, now int64) {
	c.now = max(c.now, now)
	if c.staging != nil {
		c.staging.faults.add(Fault{key, rv, status})
		return
	}
	c.faults.add(Fault{key, rv, status})
	c.wakeEveryone()
}

// bury takes out the last good versions of faulty objects that are known to be
// gone, once everything up to their deletion is in. Several go at one version.
func (c *Cacher) bury(rv api.ResourceVersion) {
	for _, f := range c.faults.list {
		id := c.state.Find(f.Key)
		if f.TakenBack() && f.ResourceVersion <= rv && id != 0 && c.heap.ResourceVersion(c.state.Version(id)) < f.ResourceVersion {
			c.Hold()
			c.commit(id, history.Event{ResourceVersion: max(rv, c.rv), Previous: c.state.Remove(f.Key), Millis: c.now})
		}
	}
}

// TakenBack: an earlier fault of the object is over, and whatever was held of it
// before this version is gone.
func (f *Fault) TakenBack() bool { return f.Status.Code == 404 }

// Faults returns those that stand, oldest first, and a mark that changes with
// every new one. A 404 among them takes an earlier fault back: whatever was held
// of the object before that version is gone.
func (c *Cacher) Faults() (list []Fault, mark int) { return c.faults.list, c.faults.next }
