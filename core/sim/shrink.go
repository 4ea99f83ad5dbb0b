package sim

import "errors"

// kindOf returns the innermost error that a violation wraps, such as ErrStale.
func kindOf(err error) error {
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return err
}

// Shrink removes ops as long as the run fails with the same named error. It
// tries long sequences first, then shorter ones, then single ops.
func Shrink(failed *Result, setup Setup) *Result {
	best := failed
	best.Ops = best.Ops[:min(len(best.Ops), best.Done+1)]
	for size := len(best.Ops) / 2; size > 0; {
		shorter := false
		for at := 0; at < len(best.Ops); {
			ops := append(append([]Op{}, best.Ops[:at]...), best.Ops[min(at+size, len(best.Ops)):]...)
			if r := Run(best.Seed, ops, setup); r.Err != nil && kindOf(r.Err) == kindOf(best.Err) {
				best, shorter = r, true
			} else {
				at += size
			}
		}
		if size > 1 || !shorter {
			size /= 2
		}
	}
	return best
}
