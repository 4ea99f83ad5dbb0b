package dispatch

const (
	budgetPerSecondMillis = 50
	maxBudgetMillis       = 100
)

// budget is the time that dispatch may wait for slow consumers. It accrues with
// the clock, and unused time is returned to it (rule C27).
type budget struct {
	millis int64
	// since is the time in milliseconds up to which the budget has accrued. It advances
	// by whole seconds.
	since int64
}

// take returns the available time and empties the budget.
func (b *budget) take(now int64) int64 {
	if seconds := (now - b.since) / 1000; seconds > 0 {
		b.giveBack(seconds * budgetPerSecondMillis)
		b.since += seconds * 1000
	}
	taken := b.millis
	b.millis = 0
	return taken
}

func (b *budget) giveBack(millis int64) {
	if millis > 0 {
		b.millis = min(b.millis+millis, maxBudgetMillis)
	}
}
