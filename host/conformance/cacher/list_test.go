package cacher

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
)

// answer is the result of a list.
type answer struct {
	items     []string
	rv        string
	next      string
	remaining uint64
	refused   string
	passedOn  bool // the library forwarded the list to its storage, which does not exist here
}

func (a *answer) String() string {
	if a.refused != "" {
		return "refused: " + a.refused
	}
	return fmt.Sprintf("%q at %s, continue %s, %d remaining", a.items, a.rv, readToken(a.next), a.remaining)
}

func (w *world) ourList(r *request, done func(answer)) {
	options, refused := r.listOptions()
	if refused != nil {
		done(answer{refused: ourRefusal(refused)})
		return
	}
	refused = w.ours.List(options, func(result *cacher.Pages, status *api.Status) {
		var items []store.Ref
		if status == nil {
			items, status = result.All()
		}
		if status != nil {
			done(answer{refused: ourRefusal(status)})
			return
		}
		a := answer{rv: result.ResourceVersion.String(), next: result.Continue, remaining: result.Remaining}
		for _, ref := range items {
			a.items = append(a.items, w.describe(ref, w.ours.Arena().ResourceVersion(ref)))
		}
		done(a)
	})
	if refused != nil {
		done(answer{refused: ourRefusal(refused)})
	}
}

func (w *world) theirList(r *request) (a answer) {
	ctx, key, opts, err := w.storageOptions(r, false)
	var list example.PodList
	if err == nil {
		err = w.theirs.GetList(ctx, key, opts, &list)
	}
	if errors.Is(err, errPassedOn) {
		return answer{passedOn: true}
	}
	if err != nil {
		return answer{refused: theirRefusal(err)}
	}
	for i := range list.Items {
		a.items = append(a.items, describePod(&list.Items[i]))
	}
	a.rv, a.next = list.ResourceVersion, list.Continue
	if list.RemainingItemCount != nil {
		a.remaining = uint64(*list.RemainingItemCount)
	}
	return a
}

// list sends a list request to both sides, compares the responses, and returns them.
func (w *world) list(r *request, waits bool, meanwhile func()) (ours, theirs answer) {
	w.t.Helper()
	w.ourList(r, func(a answer) { ours = a })
	w.ask(waits, meanwhile, func() { theirs = w.theirList(r) })
	w.sameAnswer(r, &ours, &theirs)
	return ours, theirs
}

func (w *world) sameAnswer(r *request, ours, theirs *answer) {
	w.t.Helper()
	switch {
	case theirs.passedOn:
		w.seen["a list passed on to the storage"]++
		return
	case theirs.refused == "":
		w.seen["a list served"]++
	default:
		w.seen["a list refused"]++
	}
	if !r.sameRefusal(theirs.refused, ours.refused) || ours.rv != theirs.rv || ours.remaining != theirs.remaining ||
		readToken(ours.next) != readToken(theirs.next) || !slices.Equal(ours.items, theirs.items) {
		w.t.Fatalf("list %s\nthe library: %s\nwe:          %s", r, theirs, ours)
	}
}

// pages requests all pages of a list from both sides. Each request uses the token of a
// random side. Objects may change between the pages.
func (w *world) pages(r request) {
	w.t.Helper()
	ours, theirs := w.list(&r, false, nil)
	for theirs.next != "" {
		w.seen["a further page"]++
		for range w.random.Intn(3) {
			w.change()
		}
		if r.next = ours.next; w.random.Intn(2) == 0 {
			r.next = theirs.next
		}
		if w.random.Intn(8) == 0 { // continue with the latest state
			var rv int64
			var start string
			fmt.Sscanf(readToken(r.next), "%d %q", &rv, &start)
			r.next = makeToken(-1, start)
			w.seen["a page of the latest state"]++
		}
		r.rv, r.match = "", ""
		if w.random.Intn(6) == 0 {
			r.rv, r.limit = "0", 0 // at version "0" the library would ignore a limit
		}
		if ours, theirs = w.list(&r, false, nil); theirs.refused != "" {
			return
		}
	}
}

// get requests an object from both sides and compares the results.
func (w *world) get(key, rv string, waits bool, meanwhile func()) {
	w.t.Helper()
	var ours, theirs string
	least, err := api.ParseResourceVersion(rv)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ours.Waits().WhenFresh(least, func(status *api.Status) {
		ref := w.ours.State().Get(api.Key(key))
		switch {
		case status != nil:
			ours = ourRefusal(status)
		case ref != 0:
			ours = w.describe(ref, w.ours.Arena().ResourceVersion(ref))
		default:
			ours = "none"
		}
	})
	w.ask(waits, meanwhile, func() {
		var p example.Pod
		switch err := w.theirs.Get(context.Background(), prefix+key, storage.GetOptions{ResourceVersion: rv}, &p); {
		case storage.IsNotFound(err):
			theirs = "none"
		case err != nil:
			theirs = theirRefusal(err)
		default:
			theirs = describePod(&p)
		}
	})
	if ours != theirs {
		w.t.Fatalf("get %s at %s: the library returns %s, ours %s", key, rv, theirs, ours)
	}
	if w.seen["an object"]++; ours == "none" {
		w.seen["no such object"]++
	}
}

func (w *world) getSomething() {
	w.t.Helper()
	rv := w.version(0)
	if rv == "" {
		rv = "0" // without a version, the library reads from its storage
	}
	w.get(w.key(), rv, false, nil)
}
