package owners_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/owners"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

// owned is an object of the model.
type owned struct{ uid, owner string }

// world contains collections, and a model of their objects by key.
type world struct {
	collections []*cacher.Cacher
	objects     []map[api.Key]owned
	open        []bool
	rv          int
}

func newWorld(collections int) *world {
	w := &world{rv: 1}
	for range collections {
		c := cacher.New(cacher.Config{Schema: objects.Pods()})
		c.Listing().Begin()
		c.Listing().End(1, 1)
		w.collections, w.objects, w.open = append(w.collections, c), append(w.objects, map[api.Key]owned{}), append(w.open, true)
	}
	return w
}

// put passes a version of an object to apply, and adds the object to the model.
func (w *world) put(collection int, key string, o owned, apply func(*cacher.Update)) {
	text := fmt.Sprintf("%s rv=%d uid=%s app=web", key, w.rv, o.uid)
	if o.owner != "" {
		text += " owner=" + o.owner
	}
	w.objects[collection][api.Key(key)] = o
	apply(objects.Update(text))
}

// below reports whether the chain of owners of an object reaches the root. It follows
// every version of every owner.
func (w *world) below(o owned, root string) bool {
	seen := map[string]bool{}
	for next := []string{o.owner}; len(next) > 0; next = next[1:] {
		if next[0] == root {
			return true
		}
		if next[0] == "" || seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		for i, all := range w.objects {
			for _, other := range all {
				if w.open[i] && other.uid == next[0] {
					next = append(next, other.owner)
				}
			}
		}
	}
	return false
}

// step makes a random change. There are few UIDs, so some owners are missing, late or
// deleted. Several collections contain copies of an object, and there are cycles.
func (w *world) step(r *rand.Rand, uids int) {
	w.rv++
	uid := func() string { return fmt.Sprintf("u%d", r.IntN(uids)) }
	random := func() owned {
		o := owned{uid: uid()}
		if r.IntN(4) > 0 {
			o.owner = uid()
		}
		return o
	}
	i := r.IntN(len(w.collections))
	c, key := w.collections[i], fmt.Sprintf("ns/p%d", r.IntN(uids))
	switch n := r.IntN(20); {
	case n < 12:
		o := random()
		if was, exists := w.objects[i][api.Key(key)]; exists && r.IntN(3) > 0 {
			o.uid = was.uid
		}
		w.put(i, key, o, func(p *cacher.Update) { _ = c.Apply(p, int64(w.rv)) })
	case n < 17:
		c.Delete(api.Key(key), api.ResourceVersion(w.rv), int64(w.rv))
		delete(w.objects[i], api.Key(key))
	case n < 18:
		w.objects[i] = map[api.Key]owned{}
		c.Listing().Begin()
		for k := range uids {
			if r.IntN(2) == 0 {
				w.put(i, fmt.Sprintf("ns/p%02d", k), random(), func(p *cacher.Update) { c.Listing().Object(p) })
			}
		}
		c.Listing().End(api.ResourceVersion(w.rv), int64(w.rv))
	default:
		w.open[i] = i == 0 || !w.open[i]
	}
}

func (w *world) follow(g *owners.Graph) {
	var open []*cacher.Cacher
	for i, c := range w.collections {
		if w.open[i] {
			open = append(open, c)
		}
	}
	g.Follow(open)
}

// A view below an owner has exactly the objects whose chain of owners reaches that owner.
// This holds after any changes, even if the view is rarely updated.
func TestAViewBelowAnOwnerAgreesWithTheModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 19))
		w, g := newWorld(1+r.IntN(3)), owners.Graph{}
		uids := 3 + r.IntN(20)
		root := fmt.Sprintf("u%d", r.IntN(3))
		c := w.collections[0]
		v, status := view.New(c, &wire.OpenView{Limit: 1000, Sort: "-name", OwnedBy: root, Recursive: true, Facets: []wire.Facet{{By: "labels[app]"}}}, 0)
		require.Nil(t, status)
		rows, changes := map[api.Key]bool{}, uint64(0)
		for range 400 {
			w.step(r, uids)
			if r.IntN(3) > 0 {
				continue
			}
			w.follow(&g)
			if g.Changes() != changes {
				changes = g.Changes()
				v.SetOwners(g.Below(root), func(owner string) []store.ID { return g.Children(c, owner) })
			}
			total := apply(t, v, rows)
			want := map[api.Key]bool{}
			for key, o := range w.objects[0] {
				if w.below(o, root) {
					want[key] = true
				}
			}
			require.Equal(t, want, rows, "seed %d, version %d", seed, w.rv)
			require.LessOrEqual(t, total, len(want), "each row counts once")
		}
		v.Close()
	}
}

// apply replaces the contents of rows with all rows of the view if the view has a
// patch. It returns the number of rows that the facet counts, or zero without a
// patch.
func apply(t *testing.T, v *view.View, rows map[api.Key]bool) int {
	var f wire.ViewPatch
	v.Build(1 << 30)
	if !v.Patch(&f) {
		return 0
	}
	require.Nil(t, v.Move(&wire.MoveView{}))
	var empty wire.ViewPatch
	v.Patch(&empty)
	require.Nil(t, v.Move(&wire.MoveView{Limit: 1000}))
	require.True(t, v.Patch(&f))
	clear(rows)
	for _, e := range f.Edits {
		for _, item := range e.Insert {
			rows[api.Key(string(item.Envelope.Key()))] = true
		}
	}
	require.EqualValues(t, len(rows), f.Total)
	total := 0
	for _, value := range f.Facets[0].Values {
		total += int(value.Rows)
	}
	require.Equal(t, len(rows), total)
	return total
}

// A change to a pod whose owner has other pods does not count as a change to the graph. A
// rollout therefore does not repeat the search for the objects below an owner.
func TestAnObjectWithoutChildrenChangesNoOwners(t *testing.T) {
	w, g := newWorld(2), owners.Graph{}
	pods, sets := w.collections[0], w.collections[1]
	apply := func(c *cacher.Cacher) func(*cacher.Update) {
		return func(p *cacher.Update) { _ = c.Apply(p, 1) }
	}
	w.follow(&g)
	w.put(1, "ns/set", owned{"set", "deployment"}, apply(sets))
	w.put(0, "ns/a", owned{"a", "set"}, apply(pods))
	before := g.Changes()
	for range 10 {
		w.rv++
		w.put(0, "ns/b", owned{"b", "set"}, apply(pods))
		w.rv++
		pods.Delete("ns/b", api.ResourceVersion(w.rv), 1)
	}
	require.Equal(t, before, g.Changes())
	require.Equal(t, []string{"deployment", "set"}, g.Below("deployment"))

	w.rv++
	pods.Delete("ns/a", api.ResourceVersion(w.rv), 1)
	require.Greater(t, g.Changes(), before)
	require.Equal(t, []string{"deployment"}, g.Below("deployment"), "owners without children are no concern of a view")
	require.Empty(t, g.Children(pods, "set"))
	require.Equal(t, []string{"ns/set"}, keys(sets, slices.Clone(g.Children(sets, "deployment"))))
	g.Follow(nil)
	require.Empty(t, g.Children(sets, "deployment"), "a graph without collections holds nothing")
}

func keys(c *cacher.Cacher, ids []store.ID) (all []string) {
	for _, id := range ids {
		all = append(all, string([]byte(c.Arena().Key(c.State().Version(id)))))
	}
	return all
}
