package watcher

// Queued is how many changes and bookmarks are admitted and not yet delivered.
func (w *Watcher) Queued() int { return w.in.len() }

// State is the bookmark state: waiting, received or sent.
func (w *Watcher) State() string { return [...]string{"waiting", "received", "sent"}[w.bookmark] }

// Conflate makes room as a full input does.
func (w *Watcher) Conflate() { w.conflate() }

// Held is how many entries the index refers to, once for each place.
func (x *Index[T]) Held() int {
	held := len(x.all.entries)
	for _, b := range x.places {
		held += len(b.entries)
	}
	return held
}
