package kubeapi

import (
	"context"
	"slices"
	"sync"

	"github.com/watchglass/watchglass/host/limit"
)

// shedPercent is the percentage of all watches that one call to Shed ends.
const shedPercent = 1

// openWatches contains the watches that Shed can end.
type openWatches struct {
	mu      sync.Mutex
	clients map[string][]*openWatch // sorted by age, newest last
	count   int
}

type openWatch struct{ end context.CancelFunc }

// add registers a watch of a client. The returned function removes the watch.
func (o *openWatches) add(client string, end context.CancelFunc) (remove func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.clients == nil {
		o.clients = map[string][]*openWatch{}
	}
	w := &openWatch{end}
	o.clients[client] = append(o.clients[client], w)
	o.count++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.remove(client, w)
	}
}

// remove removes a watch, if it is registered. The caller holds mu.
func (o *openWatches) remove(client string, w *openWatch) {
	i := slices.Index(o.clients[client], w)
	if i < 0 {
		return
	}
	o.count--
	if o.clients[client] = slices.Delete(o.clients[client], i, i+1); len(o.clients[client]) == 0 {
		delete(o.clients, client)
	}
}

// removeNewestOfHeaviest removes the newest watch of the client with the most watches.
// The caller holds mu.
func (o *openWatches) removeNewestOfHeaviest() *openWatch {
	heaviest := ""
	for client, watches := range o.clients {
		if heaviest == "" || len(watches) > len(o.clients[heaviest]) {
			heaviest = client
		}
	}
	watches := o.clients[heaviest]
	newest := watches[len(watches)-1]
	o.remove(heaviest, newest)
	return newest
}

// Count returns the number of open watches.
func (h *Handler) Count() int {
	h.open.mu.Lock()
	defer h.open.mu.Unlock()
	return h.open.count
}

// Shed ends the newest watches of the clients with the most watches. It is called while
// the process is above max-memory. It ends one percent of all watches and at least one,
// but never leaves fewer than the number "keep". Clients that watch again get 503 while
// memory is short.
func (h *Handler) Shed(keep int) {
	h.open.mu.Lock()
	defer h.open.mu.Unlock()
	for n := max(1, h.open.count*shedPercent/100); n > 0 && h.open.count > keep; n-- {
		h.config.Limits.Count(limit.MaxMemory)
		h.open.removeNewestOfHeaviest().end()
	}
}
