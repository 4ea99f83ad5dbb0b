package lite

// Rand is a deterministic random number generator (splitmix64) for jitter. Equal
// seeds give equal sequences on every platform. The zero value is ready to use.
type Rand struct{ state uint64 }

// NewRand returns a generator with the given seed.
func NewRand(seed uint64) *Rand { return &Rand{seed} }

// Uint64 returns the next number.
func (r *Rand) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Int63n returns a number in [0, n), or 0 if n < 1. The result has the small bias of
// a remainder, which is acceptable for jitter.
//
//go:noinline
func (r *Rand) Int63n(n int64) int64 {
	if n < 1 {
		return 0
	}
	return int64(r.Uint64()>>1) % n
}
