package owners

import (
	"slices"

	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
)

// Graph indexes the objects of several collections by owner.
type Graph struct {
	indexes []*index
	changes uint64
}

// index contains the objects of one collection by owner.
type index struct {
	graph    *Graph
	cacher   *cacher.Cacher
	children IDs // by UID of the owner
}

// Follow sets the collections that the graph indexes. The graph observes each
// collection until a later call omits the collection.
func (g *Graph) Follow(collections []*cacher.Cacher) {
	g.indexes = slices.DeleteFunc(g.indexes, func(x *index) bool {
		if slices.Contains(collections, x.cacher) {
			return false
		}
		x.cacher.Unobserve(x)
		g.changes++
		return true
	})
	for _, c := range collections {
		if g.indexOf(c) == nil {
			x := &index{graph: g, cacher: c}
			x.Replaced()
			c.Observe(x)
			g.indexes = append(g.indexes, x)
		}
	}
}

func (g *Graph) indexOf(c *cacher.Cacher) *index {
	for _, x := range g.indexes {
		if x.cacher == c {
			return x
		}
	}
	return nil
}

// UsedBytes returns the approximate memory of the graph.
func (g *Graph) UsedBytes() (used int) {
	for _, x := range g.indexes {
		used += x.children.UsedBytes()
	}
	return used
}

// Changes counts the changes that may alter a result of Below. A change to an object
// without children does not count if its owner has other children.
func (g *Graph) Changes() uint64 { return g.changes }

// Children returns the IDs of the objects in a collection that have the given owner.
// The result is valid until the next change.
func (g *Graph) Children(c *cacher.Cacher, owner string) []store.ID {
	if x := g.indexOf(c); x != nil {
		return x.children[owner]
	}
	return nil
}

// Below returns the UID of the root, and the UIDs of all objects below the root that have
// children. The result therefore contains the owner of every object below the root. Below
// takes time proportional to the number of objects below the root. The caller owns the
// returned UIDs.
func (g *Graph) Below(root string) []string {
	found, known := []string{root}, map[string]bool{root: true}
	for i := 0; i < len(found); i++ {
		for _, x := range g.indexes {
			for _, id := range x.children[found[i]] {
				uid := x.uid(x.cacher.State().Version(id))
				if !known[uid] && g.hasChildren(uid) {
					uid = lite.Clone(uid) // it may alias the envelope
					known[uid] = true
					found = append(found, uid)
				}
			}
		}
	}
	return found
}

func (g *Graph) hasChildren(uid string) bool {
	for _, x := range g.indexes {
		if len(x.children[uid]) > 0 {
			return true
		}
	}
	return false
}

func (x *index) uid(ref store.Ref) string { return x.cacher.Arena().Envelope(ref).UID() }

// Replaced implements cacher.Observer.
func (x *index) Replaced() {
	x.graph.changes++
	x.children = IDs{}
	state := x.cacher.State()
	state.LoadAll()
	state.Objects(func(id store.ID, ref store.Ref) bool {
		x.add(id, x.cacher.Arena().OwnerOf(ref))
		return true
	})
}

// Changed implements cacher.Observer.
func (x *index) Changed(id store.ID, e *history.Event) {
	was, previous := x.owner(e.Previous)
	is, current := x.owner(e.Current)
	if was == is && previous == current {
		return
	}
	if was != is {
		x.remove(id, was)
		x.add(id, is)
	}
	if g := x.graph; g.hasChildren(previous) || g.hasChildren(current) {
		g.changes++
	}
}

// owner returns the UID of the owner of a version, and the UID of the version itself.
// Both are "" for a version without an owner, because an object without an owner is below
// no other object.
func (x *index) owner(ref store.Ref) (owner, uid string) {
	if ref == 0 {
		return "", ""
	}
	if owner = x.cacher.Arena().OwnerOf(ref); owner != "" {
		uid = x.uid(ref)
	}
	return owner, uid
}

func (x *index) add(id store.ID, owner string) {
	if owner != "" && x.children.Add(owner, id) {
		x.graph.changes++
	}
}

func (x *index) remove(id store.ID, owner string) {
	if x.children.Remove(owner, id) {
		x.graph.changes++
	}
}
