package recording

import (
	"errors"
	"fmt"
	"maps"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/sim/check"
)

// ErrList reports that a list does not match its request, or differs from the state of the
// source at its version.
var ErrList = errors.New("list: a response differs from the state at its version")

// alone contains the validators that do not need a recording of the source.
var alone = []check.Validator{check.Filtered, check.Unique, check.Ordered, check.Bookmarkable, check.Atomic}

// Verify validates the recordings and returns a summary. If a guarantee is violated, it returns
// an error of package check or ErrList. The other errors of this package report a problem with
// the recordings.
func (h *History) Verify() (summary string, err error) {
	if len(h.watches) == 0 && len(h.lists) == 0 {
		return "", fmt.Errorf("%w: no watch and no list of %s was recorded", ErrMismatch, h.resource)
	}
	for i := range h.lists {
		if err := h.verifyList(&h.lists[i]); err != nil {
			return "", err
		}
	}
	related := map[*scope][]*check.Watch{}
	for _, w := range h.watches {
		if err := h.verifyWatch(&w.Watch); err != nil {
			return "", err
		}
		for _, other := range related[w.scope] {
			if err := h.verifyRelated(&w.Watch, other); err != nil {
				return "", err
			}
		}
		related[w.scope] = append(related[w.scope], &w.Watch)
	}
	return h.summary(), nil
}

func (h *History) verifyWatch(w *check.Watch) error {
	if h.log == nil {
		for _, validate := range alone {
			if err := validate(check.NewLog(), w); err != nil {
				return err
			}
		}
		return nil
	}
	if w.Start == check.FromVersion && w.ResourceVersion < h.from {
		return fmt.Errorf("%w: %s starts after version %d, but the recording of the source begins at %d: record the source first",
			ErrMismatch, w.Name, w.ResourceVersion, h.from)
	}
	for _, e := range w.Events {
		if e.ResourceVersion > h.to {
			return fmt.Errorf("%w: %s reached version %d, but the recording of the source ends at %d: record the source for longer",
				ErrMismatch, w.Name, e.ResourceVersion, h.to)
		}
	}
	w.Opened, w.Started = h.from, h.to
	return check.All(h.log, w)
}

// verifyRelated compares two watches with the same scope, if there is a recording of the
// source.
func (h *History) verifyRelated(a, b *check.Watch) error {
	if h.log == nil {
		return nil
	}
	for _, err := range []error{check.Suffix(h.log, a, b), check.Selected(h.log, a, b), check.Selected(h.log, b, a)} {
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyList checks a list. Without a recording of the source, it checks only order,
// selectors and versions.
func (h *History) verifyList(l *list) error {
	match := func(key api.Key, o *check.Object) bool { return l.scope.Match(key, o) && l.filter.Match(key, o) }
	var before api.Key
	for i := range l.objects {
		o := &l.objects[i]
		switch {
		case o.Key <= before:
			return fmt.Errorf("%w: %s: %s comes after %s", ErrList, l.name, o.Key, before)
		case !match(o.Key, o.check()):
			return fmt.Errorf("%w: %s: %s does not match the request", ErrList, l.name, o.Key)
		case o.ResourceVersion > l.rv:
			return fmt.Errorf("%w: %s: %s has version %d, but the list has version %d", ErrList, l.name, o.Key, o.ResourceVersion, l.rv)
		}
		before = o.Key
	}
	if h.log == nil {
		return nil
	}
	if l.rv < h.from || l.rv > h.to {
		return fmt.Errorf("%w: %s has version %d, but the source was recorded from %d to %d", ErrMismatch, l.name, l.rv, h.from, h.to)
	}
	return h.compare(l, match)
}

func (h *History) compare(l *list, match func(api.Key, *check.Object) bool) error {
	listed := map[api.Key]*Object{}
	for i := range l.objects {
		listed[l.objects[i].Key] = &l.objects[i]
	}
	for _, item := range h.log.List(l.rv, match) {
		got := listed[item.Key]
		delete(listed, item.Key)
		if h.log.Tainted(item.Key) {
			continue
		}
		want := item.Object
		if got == nil || got.ResourceVersion != want.ResourceVersion || got.UID != want.UID ||
			!maps.Equal(got.Labels, want.Labels) || !maps.Equal(got.Fields, want.Fields) {
			return fmt.Errorf("%w: %s, at version %d: %s is listed as %+v, expected %+v", ErrList, l.name, l.rv, item.Key, got, want)
		}
	}
	for key := range listed {
		if !h.log.Tainted(key) {
			return fmt.Errorf("%w: %s, at version %d: %s did not exist", ErrList, l.name, l.rv, key)
		}
	}
	return nil
}

func (h *History) summary() string {
	events, bookmarks, relists := 0, 0, 0
	scopes := map[*scope]bool{}
	for _, w := range h.watches {
		for _, e := range w.Events {
			if e.Type == api.Bookmark {
				bookmarks++
			} else {
				events++
			}
		}
		if !scopes[w.scope] {
			scopes[w.scope] = true
			relists += len(w.scope.relists)
		}
	}
	s := fmt.Sprintf("%s of %s: %s, %s, %s, %s, %s", h.resource, h.clusterID, count(len(h.watches), "watch", "watches"),
		count(events, "event", "events"), count(bookmarks, "bookmark", "bookmarks"), count(len(h.lists), "list", "lists"),
		count(relists, "relist", "relists"))
	if h.log == nil {
		return s + "; without a recording of the source, only filter, order, repetitions, bookmarks and deliveries were judged"
	}
	return s + fmt.Sprintf("; against %s at the source, from version %d to %d", count(h.changes, "change", "changes"), h.from, h.to)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
