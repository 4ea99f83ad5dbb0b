package cacher

const (
	budgetPerSecondMillis = 50
	maxBudgetMillis       = 100
)

// budget is the time that dispatch may wait for slow consumers: it accrues
// with the clock, and what is taken and not used comes back (rule C27).
type budget struct {
	millis int64
	// since is up to when time has been accrued, in whole seconds from the
	// start of the clock.
	since int64
}

// take takes all there is.
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
