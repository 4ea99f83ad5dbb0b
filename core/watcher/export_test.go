package watcher

// Queued returns how many changes and bookmarks are admitted but not delivered.
func (w *Watcher) Queued() int { return w.in.len() }

// State returns the bookmark state: waiting, received or sent.
func (w *Watcher) State() string { return [...]string{"waiting", "received", "sent"}[w.bookmark] }

// Conflate makes room as if the input queue were full.
func (w *Watcher) Conflate() { w.conflate() }
