//go:build !refdebug

package objcache

// Debug reports whether references are recorded.
const Debug = false

// record records nothing in this build.
type record struct{}

func (record) add(int64)         {}
func (record) remove()           {}
func (record) strings() []string { return nil }
