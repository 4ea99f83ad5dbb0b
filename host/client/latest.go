package client

import "sync"

// latest stores a value, and notifies readers when it changes.
type latest[T any] struct {
	mu      sync.Mutex
	value   T
	changed chan struct{} // closed by the next update; nil if no reader waits
}

// get returns the value, and a channel that is closed when a newer value is set.
func (l *latest[T]) get() (T, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.value, l.changed
}

func (l *latest[T]) set(value T) {
	l.update(func(v *T) { *v = value })
}

func (l *latest[T]) update(change func(*T)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.value)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}
