package check

// Atomic checks that the events of a revision or of a relist arrive in one delivery. It
// accepts any watch whose deliveries may be held back (Limited or Beside).
func Atomic(l *Log, w *Watch) error {
	if w.Limited || w.Beside {
		return nil
	}
	_, live := w.split()
	changes := changesOf(l, live)
	for i := 1; i < len(changes); i++ {
		a, b := changes[i-1], changes[i]
		if a.Batch == b.Batch {
			continue
		}
		if a.ResourceVersion == b.ResourceVersion {
			return violated(ErrAtomic, w, "%v and %v are of one revision and were delivered in %d and %d", a, b, a.Batch, b.Batch)
		}
		for _, gap := range w.Relists {
			if a.ResourceVersion > gap.From && b.ResourceVersion <= gap.To {
				return violated(ErrAtomic, w, "%v and %v are of one relist and were delivered in %d and %d", a, b, a.Batch, b.Batch)
			}
		}
	}
	return nil
}
