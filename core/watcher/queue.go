package watcher

// queue is a bounded first-in first-out ring that grows to its bound as needed.
type queue[T any] struct {
	items []T
	head  int
	count int
}

func (q *queue[T]) len() int { return q.count }

func (q *queue[T]) at(i int) *T { return &q.items[(q.head+i)%len(q.items)] }

func (q *queue[T]) push(v T) {
	if q.count == len(q.items) {
		q.resize(max(8, 2*len(q.items)))
	}
	q.count++
	*q.at(q.count - 1) = v
}

func (q *queue[T]) pop() T {
	v := *q.at(0)
	var zero T
	*q.at(0) = zero
	q.head = (q.head + 1) % len(q.items)
	q.count--
	return v
}

func (q *queue[T]) resize(n int) {
	items := make([]T, n)
	for i := range q.count {
		items[i] = *q.at(i)
	}
	q.items, q.head = items, 0
}
