package watcher

// Meter is an allowance of evaluations that the filters of one client share. A filter
// spends one for each version that its selectors decide about, one for each
// requirement and one for each field that it evaluates. The zero Meter is exhausted.
type Meter struct{ left int64 }

// Grant adds to the allowance. An overdraft reduces it.
func (m *Meter) Grant(n int) { m.left += int64(n) }

// Exhausted reports whether the allowance is spent.
func (m *Meter) Exhausted() bool { return m.left <= 0 }

// Meter makes the filter spend the allowance of m. Matches decides even when that is
// exhausted: callers check Exhausted before they start.
func (f *Filter) Meter(m *Meter) { f.meter = m }

// Exhausted reports whether the filter would spend, and its allowance is spent.
func (f *Filter) Exhausted() bool { return f.metered() && f.meter.Exhausted() }

// Spend takes n from the allowance.
func (f *Filter) Spend(n int) {
	if f.metered() {
		f.meter.left -= int64(n)
	}
}

// metered reports whether the filter has a meter to spend from. Without a selector
// it spends nothing: its cost is proportional to what its client receives.
func (f *Filter) metered() bool { return f.meter != nil && f.Selective() }
