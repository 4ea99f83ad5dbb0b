package dispatch

// Budget is the budget of a dispatcher.
type Budget = budget

// Take takes the available time.
func (b *Budget) Take(now int64) int64 { return b.take(now) }

// GiveBack returns unused time.
func (b *Budget) GiveBack(millis int64) { b.giveBack(millis) }

// Held returns the number of references from the index to entries.
func (x *Index[T]) Held() int {
	held := len(x.all.entries)
	for _, b := range x.buckets {
		held += len(b.entries)
	}
	return held
}
