package watcher

// Meter is an allowance of evaluations that the filters of one client share. A filter
// spends one unit for each version that its selectors decide, and one for each
// requirement and field that it evaluates. The zero Meter is exhausted.
type Meter struct{ left int64 }

// Grant adds to the allowance. An overdraft reduces it.
func (m *Meter) Grant(n int) { m.left += int64(n) }

// Exhausted reports whether the allowance is spent.
func (m *Meter) Exhausted() bool { return m.left <= 0 }

// Meter makes the filter spend the allowance of m. Matches evaluates even when the
// allowance is exhausted. Callers check Exhausted before they start.
func (f *Filter) Meter(m *Meter) { f.meter = m }

// Exhausted reports whether the filter has selectors to evaluate and its
// allowance is exhausted.
func (f *Filter) Exhausted() bool { return f.metered() && f.meter.Exhausted() }

// Spend takes n from the allowance.
func (f *Filter) Spend(n int) {
	if f.metered() {
		f.meter.left -= int64(n)
	}
}

// metered reports whether the filter has a meter to spend from. A filter without
// selectors spends none: its cost is proportional to the data that its client
// receives.
func (f *Filter) metered() bool { return f.meter != nil && f.Selective() }
