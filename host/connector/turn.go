package connector

// turn is a lock that waiting goroutines acquire in the order in which they called lock.
// While a goroutine waits, any other goroutine acquires the lock at most once. A sync.Mutex
// has no such bound, because the goroutine that unlocks it usually locks it again before a
// waiting goroutine wakes up.
//
// The channel has capacity 1 and is full while the lock is held. If goroutines wait to send,
// a receive stores the value of the first of them, so the channel is never empty in between.
type turn chan struct{}

func (t turn) lock() { t <- struct{}{} }

func (t turn) unlock() { <-t }
