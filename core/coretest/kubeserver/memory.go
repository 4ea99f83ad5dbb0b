package kubeserver

import (
	"maps"
	"slices"

	"github.com/watchglass/watchglass/core/api"
)

// Memory is a server that stores the pods that a test writes. It ignores selectors.
type Memory struct {
	Server
	Log []Event // all changes
}

// NewMemory returns a server without pods, at version 100.
func NewMemory() *Memory {
	m := &Memory{Server: Server{UID: "cluster-1", Kinds: map[string]string{"v1/pods": "Pod"}, Newest: 100, PageSize: 500}}
	m.Storage = m
	return m
}

// Put writes an object at the next version. The function json returns the JSON of the
// object at that version.
func (m *Memory) Put(key api.Key, json func(rv api.ResourceVersion) string) {
	kind := "ADDED"
	if _, exists := m.Objects(m.Newest)[key]; exists {
		kind = "MODIFIED"
	}
	m.Newest++
	m.Log = append(m.Log, Event{kind, key, m.Newest, json(m.Newest)})
}

// Delete deletes an object at the next version. The function json returns the JSON in the
// DELETED event.
func (m *Memory) Delete(key api.Key, json func(rv api.ResourceVersion) string) {
	m.Newest++
	m.Log = append(m.Log, Event{"DELETED", key, m.Newest, json(m.Newest)})
}

// Objects returns the objects as of a version.
func (m *Memory) Objects(rv api.ResourceVersion) map[api.Key]Event {
	objects := map[api.Key]Event{}
	for _, e := range m.Log {
		if e.ResourceVersion <= rv {
			objects[e.Key] = e
		}
	}
	maps.DeleteFunc(objects, func(_ api.Key, e Event) bool { return e.Type == "DELETED" })
	return objects
}

// List implements [Storage].
func (m *Memory) List(r *Request, rv api.ResourceVersion) (list []Event, ok bool) {
	if r.Resource != "v1/pods" {
		return nil, true
	}
	objects := m.Objects(rv)
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		list = append(list, objects[key])
	}
	return list, true
}

// Changes implements [Storage].
func (m *Memory) Changes(r *Request, after, upTo api.ResourceVersion) (events []Event) {
	for _, e := range m.Log {
		if r.Resource == "v1/pods" && e.ResourceVersion > after && e.ResourceVersion <= upTo {
			events = append(events, e)
		}
	}
	return events
}
