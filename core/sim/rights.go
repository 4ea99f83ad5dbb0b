package sim

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// rightOf returns the namespace that a reader may read: one of three readers may
// read one namespace only, others everything. Where Kubernetes is read directly,
// programs keep to it and no server checks it.
func rightOf(seed uint64, reader int) string {
	return pick(api.NewRand(seed^0x419475+uint64(reader)), "", "", "", "", "ns0", "ns1")
}

// mayRead reports whether the rights of the reader cover a scope.
func (d *driver) mayRead(s api.Scope) bool { return d.right == "" || d.right == s.Namespace }

// readable numbers the objects that the reader may read.
func (r *reader) readable(kind, n int) api.Key {
	if key := keyOf(kind, n); r.right == "" || key.Namespace() == r.right {
		return key
	}
	return keyOf(kind, n^1)
}

// trespass opens a collection that the reader may not read, in the place of the
// last one.
func (r *reader) trespass(rand *api.Rand) {
	if r.fetches != nil {
		return
	}
	r.withdraw()
	foreign := []string{"", "ns0", "ns1"}
	foreign = slices.DeleteFunc(foreign, func(namespace string) bool { return namespace == r.right })
	r.trespassed = r.id32()
	r.step(&wire.OpenCollection{Collection: r.trespassed, Resource: pick(rand, resourceNames[:]...), Namespace: pick(rand, foreign...)})
}

// withdraw closes that collection.
func (r *reader) withdraw() {
	if r.trespassed != 0 {
		r.step(&wire.CloseCollection{Collection: r.trespassed})
		r.trespassed = 0
	}
}

// caught checks what the engine says of that collection.
func (r *reader) caught(f *wire.CollectionState) {
	if f.ResourceVersion != 0 || f.Objects != 0 {
		r.world.fail(ErrDisclosed, "reader %d may read the namespace %s alone, and has %+v", r.id, r.right, *f)
	}
	if f.State == wire.Forbidden && strings.Contains(f.Status.Message, "may read") {
		r.world.saw(Trespassed)
	}
}
