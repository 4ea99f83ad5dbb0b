package core

import (
	"github.com/watchglass/watchglass/core/wire"
)

// inspect replies with the engine's sizes and counters.
func (e *Engine) inspect(f *wire.Inspect) {
	reply := inspection{InspectReply: wire.InspectReply{Request: f.Request}}
	add := reply.add
	e.origin.inspect(add)
	add("collections", len(e.collections))
	add("subscriptions", len(e.sharedCollections))
	add("watches", len(e.watches.byID))
	add("activeWatches", e.watches.active)
	add("views", len(e.views))
	if n := len(e.readers); n > 0 {
		add("readers", n)
	}
	if n := len(e.snapshots); n > 0 {
		add("snapshots", n)
	}
	e.inspectObjects(add)
	for _, c := range e.collections {
		reply.prefix = "collection." + number(uint64(c.id)) + "."
		cache, r := c.shared.cacher, c.shared.reflector
		add("objects", cache.State().Len())
		add("versions", cache.Arena().Versions())
		add("deltas", cache.Arena().Deltas())
		add("usedBytes", cache.Arena().UsedBytes())
		add("reservedBytes", cache.Arena().ReservedBytes())
		if n := cache.Arena().Blocks(); n > 0 {
			add("blocks", n)
		}
		add("labelSets", cache.Arena().Labels.Len())
		add("history", cache.Window().End()-cache.Window().Start())
		add("events", int(r.Events))
		add("relists", int(r.Relists))
		add("resumes", int(r.Resumes))
		add("expired", int(r.Expired))
		add("missingBases", int(r.Missing))
		add("corruptBodies", int(r.CorruptBodies))
		counts := cache.Watches().Counts()
		add("terminatedWatches", counts.Terminated)
		add("overtakenWatches", counts.Overtaken)
		add("stalledWatches", cache.Watches().Stalled())
		add("stalls", counts.Stalls)
		add("conflations", counts.Conflations)
		add("initialEvents", counts.InitialEvents)
		faulty := 0
		faults, _ := cache.Faults()
		for i := range faults {
			if !faults[i].Retracted() {
				faulty++
			}
		}
		add("objectErrors", faulty)
		add("sharedBy", c.shared.users)
	}
	e.out = reply.Append(e.out)
}

// inspection is a reply under construction.
type inspection struct {
	wire.InspectReply
	prefix string // prefix of the names of the next entries
}

// add adds an entry to the reply. Inlining would add code for every name and make
// inspect the largest function of the module.
//
//go:noinline
func (i *inspection) add(name string, value int) {
	i.Entries = append(i.Entries, wire.InspectEntry{Name: i.prefix + name, Value: int64(value)})
}
