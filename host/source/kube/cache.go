package kube

import (
	"container/list"
	"time"
)

// cache stores a limited number of values, each until it expires. If the cache is full,
// put evicts the value that was added first. Each call removes expired values, beginning
// with the oldest, until it finds one that has not expired. Values that are added later
// should therefore expire later. A cache is not safe for concurrent use.
type cache[K comparable, V any] struct {
	capacity int
	entries  map[K]*list.Element // of entry[K, V]
	oldest   list.List
}

type entry[K comparable, V any] struct {
	key   K
	value V
	until time.Time
}

func newCache[K comparable, V any](capacity int) *cache[K, V] {
	return &cache[K, V]{capacity: capacity, entries: map[K]*list.Element{}}
}

func (c *cache[K, V]) get(key K, now time.Time) (value V, until time.Time, ok bool) {
	c.sweep(now)
	e := c.entries[key]
	if e == nil {
		return value, until, false
	}
	found := e.Value.(entry[K, V])
	return found.value, found.until, now.Before(found.until)
}

// put adds or replaces the value of key. The time "until" is the expiry of the value.
func (c *cache[K, V]) put(key K, value V, until, now time.Time) {
	c.sweep(now)
	if e := c.entries[key]; e != nil {
		c.remove(e)
	}
	if len(c.entries) >= c.capacity {
		c.remove(c.oldest.Front())
	}
	c.entries[key] = c.oldest.PushBack(entry[K, V]{key, value, until})
}

func (c *cache[K, V]) sweep(now time.Time) {
	for e := c.oldest.Front(); e != nil && !now.Before(e.Value.(entry[K, V]).until); e = c.oldest.Front() {
		c.remove(e)
	}
}

func (c *cache[K, V]) remove(e *list.Element) {
	delete(c.entries, e.Value.(entry[K, V]).key)
	c.oldest.Remove(e)
}

func (c *cache[K, V]) len() int { return len(c.entries) }
