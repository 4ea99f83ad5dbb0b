package cacher_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// dumb is a simple model of a cacher, without queues, windows, indexes or reference
// counts. It stores every state and every change, and evaluates selectors on the short
// notation of objects.
type dumb struct {
	rv     api.ResourceVersion
	state  map[string]string // text by key
	states []pastState
	events []dumbEvent
}

type pastState struct {
	rv    api.ResourceVersion
	state map[string]string
}

// dumbEvent is a change in the model. A missing version is an empty string.
type dumbEvent struct {
	rv            api.ResourceVersion
	key           string
	before, after string
	relist        bool
	unknown       bool
}

func (d *dumb) change(rv api.ResourceVersion, key, text string) {
	before := d.state[key]
	if text == "" {
		delete(d.state, key)
	} else {
		d.state[key] = text
	}
	if before != "" || text != "" {
		d.events = append(d.events, dumbEvent{rv: rv, key: key, before: before, after: text})
	}
}

// relist sets a new state and records its differences from the old state. Deletions have the
// version before rv, or rv if the old state already has the version before rv.
func (d *dumb) relist(rv api.ResourceVersion, next map[string]string) {
	var changes []dumbEvent
	deleted := rv - 1
	if deleted <= d.rv {
		deleted = rv
	}
	for _, key := range slices.Sorted(maps.Keys(next)) {
		if d.state[key] != next[key] {
			changes = append(changes, dumbEvent{rv: rvOf(next[key]), key: key, before: d.state[key], after: next[key], relist: true})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.state)) {
		if next[key] == "" {
			changes = append(changes, dumbEvent{rv: deleted, key: key, before: d.state[key], relist: true, unknown: true})
		}
	}
	slices.SortStableFunc(changes, func(a, b dumbEvent) int { return int(a.rv) - int(b.rv) })
	d.events = append(d.events, changes...)
	d.state, d.states = maps.Clone(next), nil
	d.remember(rv)
}

// remember records the state at rv.
func (d *dumb) remember(rv api.ResourceVersion) {
	d.rv = rv
	d.states = append(d.states, pastState{rv, maps.Clone(d.state)})
}

// at returns the state at a version, or nil if the version is older than the last relist.
func (d *dumb) at(rv api.ResourceVersion) map[string]string {
	for _, past := range slices.Backward(d.states) {
		if past.rv <= rv {
			return past.state
		}
	}
	return nil
}

func rvOf(text string) api.ResourceVersion {
	var rv api.ResourceVersion
	for _, c := range word(text, "rv") {
		rv = rv*10 + api.ResourceVersion(c-'0')
	}
	return rv
}

func word(text, name string) string {
	for _, w := range strings.Fields(text) {
		if value, ok := strings.CutPrefix(w, name+"="); ok {
			return value
		}
	}
	return ""
}

// selection is a namespace and selectors, with a function that evaluates them.
type selection struct {
	namespace, labels, fields string
	means                     func(text string) bool
}

func (s *selection) matches(text string) bool {
	return text != "" && (s.namespace == "" || strings.HasPrefix(text, s.namespace+"/")) && s.means(text)
}

var selections = []selection{
	{"", "", "", func(string) bool { return true }},
	{"n1", "", "", func(string) bool { return true }},
	{"", "app=web", "", func(o string) bool { return word(o, "app") == "web" }},
	{"n2", "app!=web", "", func(o string) bool { return word(o, "app") != "web" }},
	{"", "app in (web,db),!canary", "", func(o string) bool {
		return (word(o, "app") == "web" || word(o, "app") == "db") && word(o, "canary") == ""
	}},
	{"", "", "status.phase=Running", func(o string) bool { return word(o, "phase") == "Running" }},
	{"n1", "canary", "status.phase!=Running", func(o string) bool { return word(o, "canary") != "" && word(o, "phase") != "Running" }},
	{"", "", "metadata.name=p3", func(o string) bool { return strings.HasPrefix(o[2:], "/p3 ") }},
	{"n3", "", "", func(string) bool { return true }},
}

// list returns the names of matching objects in a state, in key order.
func (s *selection) list(state map[string]string) []string {
	names := []string{}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if s.matches(state[key]) {
			names = append(names, key+"@"+word(state[key], "rv"))
		}
	}
	return names
}

// match returns the event that a reader with this selection receives for a change,
// and reports whether there is one.
func (s *selection) match(e *dumbEvent) (string, bool) {
	before, after := s.matches(e.before), s.matches(e.after)
	name := e.key + "@" + e.rv.String()
	switch {
	case before && after:
		return "MODIFIED " + name, true
	case after:
		return "ADDED " + name, true
	case before && e.unknown:
		return "DELETED " + name + " unknown", true
	case before:
		return "DELETED " + name, true
	}
	return "", false
}
