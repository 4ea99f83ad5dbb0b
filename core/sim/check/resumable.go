package check

// Resumable checks that a watch from a version receives no event up to that version,
// and starts with the first change after it.
func Resumable(l *Log, w *Watch) error {
	if w.Start != FromVersion {
		return nil
	}
	got := changesOf(l, w.Events)
	if len(got) == 0 {
		return nil
	}
	if got[0].ResourceVersion <= w.ResourceVersion {
		return violated(ErrResumable, w, "%v in a watch from %d", got[0], w.ResourceVersion)
	}
	if w.Conflating && w.Limited {
		return nil
	}
	want := Expected(l, &w.Request, w.Relists, w.ResourceVersion)
	if len(want) == 0 || !same(want[0], got[0]) {
		return violated(ErrResumable, w, "from %d the first event is %v, not %v", w.ResourceVersion, first(want), got[0])
	}
	return nil
}

func first(events []Event) any {
	if len(events) == 0 {
		return "nothing"
	}
	return events[0]
}
