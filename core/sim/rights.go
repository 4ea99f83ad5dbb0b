package sim

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// rightOf returns the only namespace that a reader may read, or "" for all. One in three
// readers is restricted. For direct readers, no server enforces the right.
func rightOf(seed uint64, reader int) string {
	return pick(lite.NewRand(seed^0x419475+uint64(reader)), "", "", "", "", "ns0", "ns1")
}

// mayRead reports whether the reader is authorized for a scope.
func (d *driver) mayRead(s api.Scope) bool { return d.right == "" || d.right == s.Namespace }

// readable returns the key of the n-th object. If the reader may not read that object, it
// returns the key of a neighbor in the other namespace.
func (r *reader) readable(kind, n int) api.Key {
	if key := keyOf(kind, n); r.right == "" || key.Namespace() == r.right {
		return key
	}
	return keyOf(kind, n^1)
}

// trespass opens a collection that the reader may not read, and closes the collection
// that it opened before.
func (r *reader) trespass(rand *lite.Rand) {
	if r.fetches != nil {
		return
	}
	r.withdraw()
	foreign := []string{"", "ns0", "ns1"}
	foreign = slices.DeleteFunc(foreign, func(namespace string) bool { return namespace == r.right })
	r.trespassed = r.id32()
	r.step(&wire.OpenCollection{Collection: r.trespassed, Resource: pick(rand, resourceNames[:]...), Namespace: pick(rand, foreign...)})
}

// withdraw closes the collection that trespass has opened.
func (r *reader) withdraw() {
	if r.trespassed != 0 {
		r.step(&wire.CloseCollection{Collection: r.trespassed})
		r.trespassed = 0
	}
}

// caught checks that the collection that trespass has opened receives no data.
func (r *reader) caught(f *wire.CollectionState) {
	if f.ResourceVersion != 0 || f.Objects != 0 {
		r.world.fail(ErrDisclosed, "reader %d may read only the namespace %s, and has %+v", r.id, r.right, *f)
	}
	if f.State == api.StateForbidden && strings.Contains(f.Status.Message, "may read") {
		r.world.saw(Trespassed)
	}
}
