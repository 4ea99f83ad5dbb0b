package dispatch

// Budget exports budget to tests.
type Budget = budget

// Take returns the available time and empties the budget.
func (b *Budget) Take(now int64) int64 { return b.take(now) }

// GiveBack returns unused time to the budget.
func (b *Budget) GiveBack(millis int64) { b.giveBack(millis) }

// Held returns the number of references from the index to entries.
func (x *Index[T]) Held() int {
	held := len(x.all.entries)
	for _, b := range x.buckets {
		held += len(b.entries)
	}
	return held
}
