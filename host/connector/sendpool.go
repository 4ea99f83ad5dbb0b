package connector

import "runtime"

// The send pool writes to the readers that a change wakes. Its goroutines write to one
// reader after another, as long as no write blocks. This avoids waking a goroutine per
// reader, and shared data stays in the processor's cache from one reader to the next.

// sendBatch is the number of readers that a worker of the pool takes at a time. If the
// queue is longer than this per worker, the pool adds a worker.
const sendBatch = 32

// sendPool is the state of the send pool. The pool starts goroutines when it needs them,
// up to one per processor, and keeps them until the connector closes. Guarded by
// connector.mu.
type sendPool struct {
	queue   []*reader     // woken readers that wait for a worker, each at most once
	more    chan struct{} // wakes an idle worker; capacity for every worker
	most    int
	all     int
	working int
}

func newSendPool() sendPool {
	most := runtime.GOMAXPROCS(0)
	return sendPool{more: make(chan struct{}, most), most: most}
}

// notify queues woken readers for the send pool. It returns the readers whose connections
// support only blocking writes; the caller must wake them. The caller holds the lock and
// runs in a goroutine that is counted in c.running.
func (c *Connector) notify(woken []*reader) (others []*reader) {
	others = woken[:0]
	for _, r := range woken {
		if r.sender.try != nil {
			c.sendPool.queue = append(c.sendPool.queue, r)
			continue
		}
		r.woken = false
		others = append(others, r)
	}
	for t := &c.sendPool; t.working < t.most && t.working*sendBatch < len(t.queue); t.working++ {
		if t.working < t.all {
			t.more <- struct{}{}
			continue
		}
		t.all++
		c.running.Go(c.sendWorker)
	}
	return others
}

// sendWorker sends to queued readers until the connector closes. The goroutine of each
// reader then sends the closing status.
func (c *Connector) sendWorker() {
	var readers [sendBatch]*reader
	for {
		for n := c.takeBatch(readers[:]); n > 0; n = c.takeBatch(readers[:]) {
			for _, r := range readers[:n] {
				r.sender.trySend()
			}
		}
		clear(readers[:])
		select {
		case <-c.sendPool.more:
		case <-c.stopping.Done():
			return
		}
	}
}

// takeBatch moves the next readers from the queue to a slice, and returns their number. If
// it returns zero, the worker counts as idle.
func (c *Connector) takeBatch(readers []*reader) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.sendPool
	n := copy(readers, t.queue)
	for _, r := range readers[:n] {
		r.woken = false
	}
	left := copy(t.queue, t.queue[n:])
	clear(t.queue[left:])
	t.queue = t.queue[:left]
	if n == 0 {
		t.working--
	}
	return n
}
