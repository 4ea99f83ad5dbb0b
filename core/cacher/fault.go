package cacher

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// Fault is an object whose newest version cannot be read. Its last good version,
// if any, stays in the state (rule C53).
type Fault struct {
	Key             api.Key
	ResourceVersion api.ResourceVersion
	Status          *api.Status
}

// maxFaults limits the number of faults. Beyond the limit, the oldest fault is
// dropped.
const maxFaults = 1000

// faults stores the known faults in order of arrival, so that new readers receive
// them too. Faults are numbered in this order.
type faults struct {
	list []Fault
	next int // number of the next fault; the last in list has next-1
}

func (f *faults) add(fault Fault) {
	f.drop(fault.Key, fault.ResourceVersion, fault.Retracted())
	fault.Key = api.Key(lite.Clone(string(fault.Key)))
	f.list = append(f.list, fault)
	f.next++
	if len(f.list) > maxFaults {
		f.list = f.list[1:]
	}
}

// clear removes the fault of an object that is known to be readable or deleted at rv, and
// reports whether there was one.
func (f *faults) clear(key api.Key, rv api.ResourceVersion) bool { return f.drop(key, rv, false) }

// drop is like clear. If all is set, it also removes retracted faults.
func (f *faults) drop(key api.Key, rv api.ResourceVersion, all bool) bool {
	before := len(f.list)
	if before > 0 {
		f.list = slices.DeleteFunc(f.list, func(x Fault) bool {
			return x.Key == key && x.ResourceVersion <= rv && (all || !x.Retracted())
		})
	}
	return len(f.list) < before
}

// since reports whether an object has an unreadable version newer than rv.
func (f *faults) since(key api.Key, rv api.ResourceVersion) bool {
	return slices.ContainsFunc(f.list, func(x Fault) bool { return x.Key == key && x.ResourceVersion > rv })
}

// retractFault retracts the fault of an object that was replaced or deleted at rv. A
// reader may have a good version from before the fault that this cacher lacks. If the
// change causes no event for that reader, the retraction invalidates that version.
func (c *Cacher) retractFault(key api.Key, rv api.ResourceVersion, how string) {
	if len(c.faults.list) > 0 && c.faults.clear(key, rv) {
		c.faults.add(Fault{key, rv, api.NotFound(string(key) + " was " + how)})
		c.followers.WakeAll()
	}
}

// Fault records that version rv of key cannot be read. The fault is cleared when the
// object changes again or a list contains a readable version. Fault does not advance the
// resource version, because connectors report faults out of order. If a fault advanced
// the version of a reader, the reader would discard earlier changes as duplicates.
func (c *Cacher) Fault(key api.Key, rv api.ResourceVersion, status *api.Status, now int64) {
	c.at.Now = max(c.at.Now, now)
	if c.listing.staging != nil {
		c.listing.staging.faults.add(Fault{key, rv, status})
		return
	}
	c.faults.add(Fault{key, rv, status})
	c.followers.WakeAll()
}

// dropDeletedFaults removes the last good versions of faulty objects that are known to be
// deleted, once everything up to their deletion has been applied. Several objects may be
// removed at one resource version.
func (c *Cacher) dropDeletedFaults(rv api.ResourceVersion) {
	for _, f := range c.faults.list {
		id := c.state.Find(f.Key)
		if f.Retracted() && f.ResourceVersion <= rv && id != 0 && c.arena.ResourceVersion(c.state.Version(id)) < f.ResourceVersion {
			c.waits.BeginRevision()
			c.commit(id, history.Event{ResourceVersion: max(rv, c.at.Version), Previous: c.state.Remove(f.Key), Millis: c.at.Now})
		}
	}
}

// Retracted reports whether the fault retracts an earlier one. The object was then
// deleted or replaced, and its versions before the fault's resource version are invalid.
func (f *Fault) Retracted() bool { return f.Status.Code == api.CodeNotFound }

// Faults returns the current faults, oldest first, and a number that changes with
// every new fault. A fault with code 404 retracts an earlier one: versions of the
// object before the retraction are invalid.
func (c *Cacher) Faults() (list []Fault, mark int) { return c.faults.list, c.faults.next }
