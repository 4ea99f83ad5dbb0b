package kube

import "encoding/json"

// CachedBytes returns the total size of the policy's cached verdicts in bytes, encoded as
// JSON.
func (p *Policy) CachedBytes() int {
	n := 0
	for _, v := range []*verdicts{&p.tokens, &p.rights} {
		for _, c := range []*cache[question, verdict]{v.grants, v.refusals} {
			for key, e := range c.entries {
				found := e.Value.(entry[question, verdict]).value
				text, err := json.Marshal([]any{found.user, found.status})
				if err != nil {
					panic(err)
				}
				n += len(key) + len(text)
			}
		}
	}
	return n
}

// Addresses returns the number of client addresses whose refused tokens are counted.
func (p *Policy) Addresses() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused.len()
}

// Waiting returns the number of client addresses that wait for reviews.
func (p *Policy) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}
