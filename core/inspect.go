package core

import (
	"github.com/watchglass/watchglass/core/wire"
)

// inspect answers with what the engine holds and how it got there.
func (e *Engine) inspect(f *wire.Inspect) {
	reply := wire.InspectReply{Request: f.Request}
	add := func(name string, value int) {
		reply.Entries = append(reply.Entries, wire.InspectEntry{Name: name, Value: int64(value)})
	}
	add("reconnects", int(e.conn.reconnects))
	add("refusals", int(e.conn.refusals))
	add("collections", len(e.collections))
	add("subscriptions", len(e.backings))
	add("watches", len(e.watches.byID))
	add("views", len(e.views))
	if n := len(e.readers); n > 0 {
		add("readers", n)
	}
	if n := len(e.exports); n > 0 {
		add("snapshots", n)
	}
	e.inspectObjects(add)
	for _, c := range e.collections {
		prefix := "collection." + number(uint64(c.id)) + "."
		cache, r := c.backing.cacher, c.backing.reflector
		add(prefix+"objects", cache.Len())
		add(prefix+"versions", cache.Heap().Versions())
		add(prefix+"deltas", cache.Heap().Deltas())
		add(prefix+"usedBytes", cache.Heap().UsedBytes())
		add(prefix+"reservedBytes", cache.Heap().ReservedBytes())
		add(prefix+"labelSets", cache.Heap().Labels.Len())
		add(prefix+"history", cache.Window().End()-cache.Window().Start())
		add(prefix+"events", int(r.Events))
		add(prefix+"relists", int(r.Relists))
		add(prefix+"resumes", int(r.Resumes))
		add(prefix+"expired", int(r.Expired))
		add(prefix+"missingBases", int(r.Missing))
		add(prefix+"terminatedWatches", cache.Terminated)
		faulty := 0
		faults, _ := cache.Faults()
		for i := range faults {
			if !faults[i].TakenBack() {
				faulty++
			}
		}
		add(prefix+"objectErrors", faulty)
		add(prefix+"sharedBy", c.backing.users)
	}
	e.out = reply.Append(e.out)
}
