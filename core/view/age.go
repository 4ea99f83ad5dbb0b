package view

import (
	"github.com/watchglass/watchglass/core/store"
)

// ages records when objects may enter or leave a view because time passes.
type ages struct {
	// at maps each object to the time at which the result of the condition may next change.
	at map[store.ID]int64
	// next is the earliest time in at, or zero if there is none.
	next int64
}

// minTickMillis is the minimum time between two evaluations of ages.
const minTickMillis = 1000

// NextTick returns the time at which the view needs the next Tick, in milliseconds since the
// epoch. It returns zero if the view needs none.
func (v *View) NextTick() int64 {
	if v.ages.next == 0 {
		return 0
	}
	return max(v.ages.next, v.ticked+minTickMillis)
}

// Tick advances the time to which ages are relative, and updates the rows that enter or leave the
// view.
func (v *View) Tick(now int64) {
	if v.build != nil {
		return // the scan evaluates all objects as of the same time
	}
	if next := v.NextTick(); next == 0 || now < next {
		if v.ages.next == 0 || now < v.ages.next {
			v.match.now = max(v.match.now, now) // no result changes before v.ages.next
		}
		return
	}
	v.ticked = now
	var due []store.ID
	for id, at := range v.ages.at {
		if at <= now {
			due = append(due, id)
		}
	}
	v.match.now = now
	for _, id := range due {
		ref := v.cacher.State().Version(id)
		v.reconsider(id, v.match.failures(id, ref))
		v.trackAge(id, ref)
	}
	v.ages.next = 0
	for _, at := range v.ages.at {
		v.ages.expect(at)
	}
}

// trackAge records when the result of the condition may next change for an object. If ref
// is zero, trackAge removes the object.
func (v *View) trackAge(id store.ID, ref store.Ref) {
	if v.ages.at == nil {
		return
	}
	var at int64
	if ref != 0 {
		row := v.match.row(ref)
		at = v.match.where.Flip(&row)
	}
	if at == 0 {
		delete(v.ages.at, id)
		return
	}
	v.ages.at[id] = at
	v.ages.expect(at)
}

func (a *ages) expect(at int64) {
	if a.next == 0 || at < a.next {
		a.next = at
	}
}
