package limit

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/watchglass/watchglass/core/api"
)

// Unit determines how a limit's value is formatted and parsed.
type Unit uint8

const (
	Count    Unit = iota // a plain number
	Bytes                // a size in bytes, such as "16KiB" or "2GiB"
	Duration             // nanoseconds, written as time.Duration does
)

// Limit is one row of the table. Limits are compared by identity and never change.
type Limit struct {
	// Name is the name of the flag without leading dashes, such as "max-readers". Statuses and
	// metrics use the same name.
	Name string
	// Default is the value in force unless a Set contains another value.
	Default int64
	// Automatic describes the default if commands compute it, for example from the machine's
	// memory. Default then applies until a command calls WithDefault.
	Automatic string
	Unit      Unit
	// Code is the HTTP status code of a refusal. It is 408 for a slow client, 413
	// for a large request, and 431 for large headers. Excess connections and requests get 429.
	// New work above max-memory and requests that exceed lookup-timeout get 503. Zero means that
	// the limit causes no refusals and is not counted.
	Code int
	// Uncounted marks a limit whose refusals are not counted, because the HTTP server enforces
	// the limit.
	Uncounted bool
	// Help is the flag's help text. It describes the limited quantity and what happens at the
	// limit.
	Help string

	index int
}

// Counted reports whether refusals by the limit are counted.
func (l *Limit) Counted() bool { return l.Code != 0 && !l.Uncounted }

var table []*Limit

// define adds a limit to the table. It runs during package initialization.
func define(l Limit) *Limit {
	l.index = len(table)
	table = append(table, &l)
	return &l
}

// All returns every limit, sorted by name.
func All() []*Limit {
	all := slices.Clone(table)
	slices.SortFunc(all, func(a, b *Limit) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// Set contains the values in force and the number of refusals of each limit. A nil Set
// contains the defaults and does not count refusals. Values must be set before the Set is
// shared; all other methods are safe for concurrent use.
type Set struct {
	values   []int64
	given    []bool
	refusals []atomic.Uint64
	reached  []atomic.Bool
}

// NewSet returns a Set with the default values.
func NewSet() *Set {
	s := &Set{values: make([]int64, len(table)), given: make([]bool, len(table)), refusals: make([]atomic.Uint64, len(table)), reached: make([]atomic.Bool, len(table))}
	for i, l := range table {
		s.values[i] = l.Default
	}
	return s
}

// Value returns the value in force.
func (s *Set) Value(l *Limit) int64 {
	if s == nil {
		return l.Default
	}
	return s.values[l.index]
}

// Int returns the value in force as an int.
func (s *Set) Int(l *Limit) int { return int(s.Value(l)) }

// Duration returns the value in force as a duration.
func (s *Set) Duration(l *Limit) time.Duration { return time.Duration(s.Value(l)) }

// With changes a value and returns the Set. It must be called before the Set is
// shared.
func (s *Set) With(l *Limit, value int64) *Set {
	s.values[l.index], s.given[l.index] = value, true
	return s
}

// WithDefault sets a computed default. Unlike With, it does not mark the limit as given.
func (s *Set) WithDefault(l *Limit, value int64) *Set {
	s.values[l.index] = value
	return s
}

// Given reports whether With has set the value.
func (s *Set) Given(l *Limit) bool { return s != nil && s.given[l.index] }

// Refuse counts a refusal and returns its Status. The message consists of the given text,
// which describes the refused request, and the name of the limit. The message does not
// contain the limit's value or the server's load.
func (s *Set) Refuse(l *Limit, message string) *api.Status {
	s.Count(l)
	return api.LimitReached(l.Code, l.Name, message)
}

// Count counts a refusal without creating a Status.
func (s *Set) Count(l *Limit) {
	if s != nil {
		s.refusals[l.index].Add(1)
	}
}

// CountStatus counts a refusal by the core. The Cause of the Status names the limit; CountStatus
// ignores a Status with any other Cause.
func (s *Set) CountStatus(status *api.Status) {
	if s == nil || status == nil || status.Cause == "" {
		return
	}
	for _, l := range table {
		if l.Name == status.Cause {
			s.Count(l)
			return
		}
	}
}

// Refusals returns the number of refusals by a limit since the Set was created.
func (s *Set) Refusals(l *Limit) uint64 {
	if s == nil {
		return 0
	}
	return s.refusals[l.index].Load()
}
