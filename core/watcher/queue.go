package watcher

// queue is a first-in first-out ring that grows as needed. An unused queue is only a nil
// pointer, which saves memory because most queues stay empty.
type queue[T any] struct{ ring *ring[T] }

type ring[T any] struct {
	items []T
	head  int
	count int
}

func (q *queue[T]) len() int {
	if q.ring == nil {
		return 0
	}
	return q.ring.count
}

func (q *queue[T]) at(i int) *T { return q.ring.at(i) }

func (q *queue[T]) push(v T) {
	if q.ring == nil {
		q.ring = &ring[T]{}
	}
	q.ring.push(v)
}

func (q *queue[T]) pop() T { return q.ring.pop() }

func (r *ring[T]) at(i int) *T { return &r.items[(r.head+i)%len(r.items)] }

func (r *ring[T]) push(v T) {
	if r.count == len(r.items) {
		r.resize(max(8, 2*len(r.items)))
	}
	r.count++
	*r.at(r.count - 1) = v
}

func (r *ring[T]) pop() T {
	v := *r.at(0)
	var zero T
	*r.at(0) = zero
	r.head = (r.head + 1) % len(r.items)
	r.count--
	return v
}

//go:noinline
func (r *ring[T]) resize(n int) {
	items := make([]T, n)
	for i := range r.count {
		items[i] = *r.at(i)
	}
	r.items, r.head = items, 0
}
