package objcache

import (
	"slices"

	"github.com/watchglass/watchglass/core/internal/lite"
)

// refs counts references by owner (rule K1), sorted by owner.
type refs struct {
	list []ref
}

type ref struct {
	owner string
	count int
	taken record // when and where each reference was added, in builds with the tag refdebug
}

func (r *refs) find(owner string) int {
	return slices.IndexFunc(r.list, func(x ref) bool { return x.owner == owner })
}

// add adds a reference and reports whether the owner is new.
func (r *refs) add(owner string, now int64) bool {
	i := r.find(owner)
	fresh := i < 0
	if fresh {
		i, _ = slices.BinarySearchFunc(r.list, owner, func(x ref, o string) int {
			if x.owner < o {
				return -1
			}
			return 1
		})
		r.list = lite.Insert(r.list, i, ref{owner: owner})
	}
	r.list[i].count++
	r.list[i].taken.add(now)
	return fresh
}

// remove drops a reference and reports whether the owner had one.
func (r *refs) remove(owner string) bool {
	i := r.find(owner)
	if i < 0 {
		return false
	}
	r.list[i].taken.remove()
	if r.list[i].count--; r.list[i].count == 0 {
		r.list = lite.RemoveAt(r.list, i)
	}
	return true
}

func (r *refs) total() int {
	n := 0
	for i := range r.list {
		n += r.list[i].count
	}
	return n
}

// Holder is an owner of references to an object.
type Holder struct {
	ID    ID
	Owner string
	Count int
	// Taken describes when and where each reference was added, oldest first. It
	// is set only in builds with the tag refdebug.
	Taken []string
}

// Holders returns all owners of references. Items are in the order of their creation, and
// the owners of an item are sorted.
func (c *Cache) Holders() []Holder {
	var holders []Holder
	for _, it := range c.items {
		for i := range it.refs.list {
			r := &it.refs.list[i]
			holders = append(holders, Holder{ID: it.id, Owner: r.owner, Count: r.count, Taken: r.taken.strings()})
		}
	}
	return holders
}
