package api

// Rand is a small deterministic generator (splitmix64) for jitter: the same
// seed gives the same numbers everywhere. The zero value is ready to use.
type Rand struct{ state uint64 }

// NewRand returns a generator for a seed.
func NewRand(seed uint64) *Rand { return &Rand{seed} }

// Uint64 is the next number.
func (r *Rand) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Int63n is a number from 0 to n-1, and 0 for n below 1. The bias is that of a
// remainder, which jitter does not mind.
func (r *Rand) Int63n(n int64) int64 {
	if n < 1 {
		return 0
	}
	return int64(r.Uint64()>>1) % n
}
