package join

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/owners"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// level is one of the collections of a join. Build reads a level in steps, and a level
// ignores changes to objects that Build has not read yet.
type level struct {
	join   *Join
	cacher *cacher.Cacher
	number int
	cursor api.Key // key of the last object that was read
	done   bool
	// own contains the objects by UID, and owned contains the objects by the UID of their
	// owner. Both are empty on the last of several levels, whose objects are only
	// counted. The map owned is also empty on the level of the rows.
	own, owned owners.IDs
}

//go:noinline
func (j *Join) addLevel(c *cacher.Cacher) {
	l := &level{join: j, cacher: c, number: len(j.levels), own: owners.IDs{}, owned: owners.IDs{}}
	l.done = l.number > 0 && !j.counts
	j.levels = append(j.levels, l)
	c.Observe(l)
}

// read reads objects until all are read, or until it has done about the given work. It
// returns the remaining work.
func (l *level) read(work int) int {
	if l.done {
		return work
	}
	last := store.Ref(0)
	l.cacher.State().After(l.cursor, func(id store.ID, ref store.Ref) bool {
		last = ref
		l.move(id, 0, ref)
		if l.number == 0 {
			l.join.put(ref, 0)
		}
		work -= cost
		return work > 0
	})
	if last != 0 {
		l.cursor = api.Key(lite.Clone(string(l.cacher.Arena().Key(last))))
	}
	l.done = work > 0
	return work
}

// Replaced implements cacher.Observer.
func (l *level) Replaced() { l.join.outdated = true }

// Changed implements cacher.Observer.
func (l *level) Changed(id store.ID, e *history.Event) {
	j, ref := l.join, e.Current
	if ref == 0 {
		ref = e.Previous
	}
	key, rows := l.cacher.Arena().Key(ref), j.levels[0]
	switch {
	case j.outdated || !l.covers(key):
	case l == rows:
		unchanged := e.Unchanged | j.joined
		if _, _, altered := l.move(id, e.Previous, e.Current); altered {
			unchanged = 0 // an object with another UID has other children
		}
		if e.Current == 0 {
			j.out.Delete(key, e.ResourceVersion, 0)
		} else {
			j.put(ref, unchanged)
		}
	case j.counts:
		if was, is, altered := l.move(id, e.Previous, e.Current); altered {
			if l.revise(was); was != is {
				l.revise(is)
			}
		}
	case rows.covers(key):
		j.revise(rows.cacher.State().Find(key))
	}
}

// covers reports whether Build has read the level up to this key, or need not read the level.
func (l *level) covers(key api.Key) bool { return l.done || key <= l.cursor }

// move updates the indexes and counts after a change to an object. It returns the
// previous and the current owner, and whether the change may alter rows above.
func (l *level) move(id store.ID, from, to store.Ref) (was, is string, altered bool) {
	j := l.join
	if !j.counts {
		return "", "", false
	}
	old, was := l.links(from)
	own, is := l.links(to)
	if l.number == 0 || l != j.last() {
		altered = l.number > 0 && move(l.owned, id, was, is)
		return was, is, move(l.own, id, old, own) || altered
	}
	for i, column := range j.columns {
		old, value := l.value(from, column), l.value(to, column)
		if was != is || old != value {
			j.add(was, i, old, -1)
			j.add(is, i, value, 1)
			altered = true
		}
	}
	return was, is, altered
}

// move moves an object in ids from one UID to another, and reports whether the UIDs
// differ. The UID "" means none.
func move(ids owners.IDs, id store.ID, from, to string) bool {
	if from == to {
		return false
	}
	ids.Remove(from, id)
	if to != "" {
		ids.Add(to, id)
	}
	return true
}

// revise updates the rows above the objects of the level that have the given owner.
func (l *level) revise(owner string) {
	for _, above := range l.join.levels[:l.number] {
		for _, id := range above.own[owner] {
			if above.number == 0 {
				l.join.revise(id)
			} else {
				_, owner := above.at(id)
				above.revise(owner)
			}
		}
	}
}

// envelope returns the envelope of a version, or nil if ref is zero.
//
//go:noinline
func (l *level) envelope(ref store.Ref) wire.Envelope {
	if ref == 0 {
		return nil
	}
	return l.cacher.Arena().Envelope(ref)
}

// links returns the UIDs of a version and of its owner, each "" for none. The UIDs may alias
// the arena.
//
//go:noinline
func (l *level) links(ref store.Ref) (own, owner string) {
	if ref != 0 {
		own, owner = l.envelope(ref).UID(), l.cacher.Arena().OwnerOf(ref)
	}
	return own, owner
}

// at returns the links of the current version of an object.
//
//go:noinline
func (l *level) at(id store.ID) (own, owner string) {
	return l.links(l.cacher.State().Version(id))
}

// value returns the value under which a column counts a version, or "" for none. The text
// may alias the arena.
//
//go:noinline
func (l *level) value(ref store.Ref, column int) string {
	switch {
	case ref == 0:
		return ""
	case column == count:
		return "object"
	}
	return l.envelope(ref).Column(column).String()
}
