package limit

import (
	"net/http"

	"github.com/watchglass/watchglass/core/api"
)

// Unlimited is the value of MaxMemory if the machine's memory size is unknown.
const Unlimited = 1 << 62

// MaxMemory limits the memory of the process. Package memory measures the memory and
// enforces the limit.
var MaxMemory = define(Limit{
	Name: "max-memory", Default: Unlimited, Unit: Bytes, Code: http.StatusServiceUnavailable,
	Automatic: "90% of the memory limit of the cgroup, or of the machine's memory",
	Help: "memory of the process; above it new readers, subscriptions, lists and watches get 503. If it stays above, " +
		"the newest readers and watches of the heaviest users or addresses are ended, up to half of them",
})

// SetReached records whether the process has reached a limit.
func (s *Set) SetReached(l *Limit, reached bool) { s.reached[l.index].Store(reached) }

// Reached reports whether the process has reached a limit.
func (s *Set) Reached(l *Limit) bool { return s != nil && s.reached[l.index].Load() }

// RefuseReached counts and returns a refusal if the process has reached a limit.
// Otherwise it returns nil.
func (s *Set) RefuseReached(l *Limit, message string) *api.Status {
	if !s.Reached(l) {
		return nil
	}
	return s.Refuse(l, message)
}
