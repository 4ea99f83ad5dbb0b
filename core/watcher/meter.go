package watcher

// Meter is an allowance of evaluations that the filters of one client share. A filter
// spends one unit for each version that it compares with its selectors, and one for each
// requirement and field that it evaluates. The zero Meter is exhausted.
type Meter struct{ left int64 }

// MeterAll makes the filter spend its allowance even if it has no selectors. Callers use
// MeterAll for clients whose cost is not proportional to the data that they receive.
func (f *Filter) MeterAll() { f.meterAll = true }

// Charge adds n to the evaluations of the filter, and takes n from the allowance.
func (f *Filter) Charge(n int) {
	f.evaluations += uint64(n)
	f.Spend(n)
}

// Grant adds n to the allowance. A previous overdraft reduces the result.
func (m *Meter) Grant(n int) { m.left += int64(n) }

// Exhausted reports whether the allowance is spent.
func (m *Meter) Exhausted() bool { return m.left <= 0 }

// Meter makes the filter spend the allowance of m. Matches works even when the allowance
// is exhausted, so callers check Exhausted first.
func (f *Filter) Meter(m *Meter) { f.meter = m }

// Exhausted reports whether the filter spends an allowance and that allowance is
// exhausted.
func (f *Filter) Exhausted() bool { return f.metered() && f.meter.Exhausted() }

// Spend takes n from the allowance, if the filter spends one.
func (f *Filter) Spend(n int) {
	if f.metered() {
		f.meter.left -= int64(n)
	}
}

// metered reports whether the filter spends an allowance. A filter without selectors or
// shard spends no allowance unless MeterAll was called, because its cost is proportional
// to the data that the client receives.
func (f *Filter) metered() bool { return f.meter != nil && (f.meterAll || f.Selective()) }
