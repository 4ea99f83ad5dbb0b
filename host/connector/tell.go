package connector

import "runtime"

// Readers that a change wakes are told of it by tellers: goroutines that write to
// one reader after the other, as long as nobody has to be waited for. That saves
// waking a goroutine for each of them, and what the one needs lies in the
// processor's cache for the next.

// maxTold is how many readers a teller takes at a time, and how many are worth
// another teller.
const maxTold = 32

// tellers are as many goroutines as there ever was work for, up to one for each
// processor. Guarded by connector.mu.
type tellers struct {
	told    []*reader     // woken, and waiting for a teller; each at most once
	more    chan struct{} // one of those that do not work is to; has room for all
	most    int
	all     int
	working int
}

func newTellers() tellers {
	most := runtime.GOMAXPROCS(0)
	return tellers{more: make(chan struct{}, most), most: most}
}

// tell has woken readers told. Those that may have to be waited for are left to the
// caller, who wakes them. It runs under the lock, in a goroutine that is counted in
// c.running.
func (c *Connector) tell(woken []*reader) (others []*reader) {
	others = woken[:0]
	for _, r := range woken {
		if r.sender.try != nil {
			c.tellers.told = append(c.tellers.told, r)
			continue
		}
		r.woken = false
		others = append(others, r)
	}
	for t := &c.tellers; t.working < t.most && t.working*maxTold < len(t.told); t.working++ {
		if t.working < t.all {
			t.more <- struct{}{}
			continue
		}
		t.all++
		c.running.Go(c.teller)
	}
	return others
}

// teller works until the connector closes. Those who were not told then are told
// that.
func (c *Connector) teller() {
	var readers [maxTold]*reader
	for {
		for n := c.takeTold(readers[:]); n > 0; n = c.takeTold(readers[:]) {
			for _, r := range readers[:n] {
				r.sender.trySend()
			}
		}
		clear(readers[:])
		select {
		case <-c.tellers.more:
		case <-c.stopping.Done():
			return
		}
	}
}

// takeTold takes the next readers for a teller, whose work is over when there are
// none.
func (c *Connector) takeTold(readers []*reader) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.tellers
	n := copy(readers, t.told)
	for _, r := range readers[:n] {
		r.woken = false
	}
	left := copy(t.told, t.told[n:])
	clear(t.told[left:])
	t.told = t.told[:left]
	if n == 0 {
		t.working--
	}
	return n
}
