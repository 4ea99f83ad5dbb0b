package sim

import (
	"fmt"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// inspected is the last InspectReply of an engine.
type inspected map[string]int64

func readInspected(f *wire.InspectReply) inspected {
	all := inspected{}
	for _, e := range f.Entries {
		all[e.Name] = e.Value
	}
	return all
}

// of returns the value with the given name for a collection.
func (i inspected) of(collection uint32, name string) int64 {
	return i[fmt.Sprintf("collection.%d.%s", collection, name)]
}

// givenUp reports whether a collection ended because of the memory limit.
func givenUp(s *wire.CollectionState) bool {
	return s.State == api.StateClosed && s.Status != nil && s.Status.Code == api.CodeTooLarge
}

// scarcity reports whether an edge object may have to drop collections that readers
// use.
func (w *world) scarcity() bool {
	for _, o := range w.objects {
		if o.config.MaxBytes != 0 {
			return true
		}
	}
	return false
}

// versionBytes is an upper bound on the memory of a version without its envelope and label set.
const versionBytes = 64

// growth returns an upper bound on the memory that a message requires. It counts the message
// and its blocks after decompression, a record for each version, and a complete object for each
// patch.
func (w *world) growth(message []byte, changes changeCounts) int {
	return 2*(len(message)+changes.expanded) + changes.versions*versionBytes + changes.patches*w.largestObject()
}

// changeCounts counts the changes in a message.
type changeCounts struct {
	versions int // including bases
	patches  int // changes sent as a patch of the envelope
	expanded int // bytes of blocks after decompression
}

func (n *changeCounts) add(changes []wire.Change) {
	for i := range changes {
		c := &changes[i]
		if c.Type != api.Deleted {
			n.versions++
		}
		if c.Base.Body.Codec != api.NoBody {
			n.versions++
		}
		if c.Patch != nil {
			n.patches++
		}
	}
}

// largestObject returns the length of the longest envelope so far.
func (w *world) largestObject() (most int) {
	for _, s := range w.sources {
		most = max(most, s.largest)
	}
	return most
}

// checkMemory checks the limits of the history and of the total memory. Each collection
// may exceed the memory limit by one message: the last message before the engine closes
// the collection.
func (d *driver) checkMemory(i inspected, collections []uint32) {
	used, budget := int64(0), int64(d.config.MaxBytes)
	for _, c := range collections {
		if n := i.of(c, "history"); n > int64(d.config.MaxHistory) {
			d.world.fail(ErrMemory, "%s, collection %d keeps %d events, more than %d", d.name, c, n, d.config.MaxHistory)
		}
		used += i.of(c, "usedBytes")
		budget += int64(d.link.growth)
	}
	if d.config.MaxBytes > 0 && used > budget {
		d.world.fail(ErrMemory, "%s holds %d bytes, and %d are allowed", d.name, used, d.config.MaxBytes)
	}
}

// checkVersions checks that an idle collection holds only its objects and its
// history.
func (d *driver) checkVersions(i inspected, c uint32) {
	// Each object and each event needs one version, plus its base if it has one.
	deltas, versions := i.of(c, "deltas"), i.of(c, "versions")
	if most := i.of(c, "objects") + i.of(c, "history"); deltas > most || versions-deltas > most {
		d.world.fail(ErrLeak, "%s, collection %d holds %d versions, %d of them differences, for %d objects and %d events",
			d.name, c, versions, deltas, i.of(c, "objects"), i.of(c, "history"))
	}
	if n := i.of(c, "blocks"); n > versions {
		d.world.fail(ErrLeak, "%s, collection %d has %d blocks for %d versions", d.name, c, n, versions)
	} else if n > 0 {
		d.world.saw(BlockStored)
	}
	if n := i.of(c, "labelSets"); n > versions+1 { // the empty label set is always present
		d.world.fail(ErrLeak, "%s, collection %d has %d label sets for %d versions", d.name, c, n, versions)
	}
}
