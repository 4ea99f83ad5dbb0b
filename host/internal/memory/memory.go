// Package memory keeps the process under the limit max-memory, so that it refuses work
// before the kernel kills it.
//
// The measure is the memory that the Go runtime has from the system and has not given
// back. Unlike the resident set it leaves out pages of files, which the kernel can drop
// by itself. The garbage collector aims below the ceiling, so memory above it is in
// use.
package memory

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/watchglass/watchglass/host/limit"
)

// Fractions of the limit, in percent. A process that has reached its limit refuses work
// until it uses less than resumePercent. That is more than the garbage collector's
// target, so that it comes to pass.
const (
	ceilingPercent = 90 // of the memory of the cgroup or the machine
	targetPercent  = 90
	resumePercent  = 95
)

const (
	// Interval is the time between two measurements.
	Interval = 250 * time.Millisecond
	// shedAfter is the number of measurements in a row above the limit after which
	// readers are disconnected.
	shedAfter = 4
)

// Ceiling returns the default of max-memory. Without a known limit it reports false.
func Ceiling() (bytes int64, ok bool) {
	memory, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	return ceiling(memory, err)
}

func ceiling(memory uint64, err error) (bytes int64, ok bool) {
	if err != nil || memory == 0 || memory > uint64(limit.MaxMemory.Default) {
		return 0, false
	}
	return int64(memory / 100 * ceilingPercent), true
}

// Used returns the memory of the process.
func Used() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// Collect makes the garbage collector aim below the limit, unless the environment
// variable GOMEMLIMIT sets another target.
func Collect(limits *limit.Set) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(percent(limits.Value(limit.MaxMemory), targetPercent))
	}
}

func percent(bytes, percent int64) int64 { return bytes / 100 * percent }

// Crowd is the readers of a connector, or the watches of a Kubernetes API.
type Crowd interface {
	// Count returns the number of readers.
	Count() int
	// Shed ends the newest readers of the heaviest clients, a hundredth of all and at
	// least one, while more than keep are left.
	Shed(keep int)
}

// Guard measures the process and sets whether it has reached max-memory.
type Guard struct {
	Limits *limit.Set
	Crowds []Crowd
	Log    *slog.Logger
	Used   func() int64 // nil means [Used]

	reached bool
	above   int   // measurements in a row above the limit
	keep    []int // readers of each crowd that stay however long memory is above the limit
}

// Run measures until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			g.measure()
		}
	}
}

func (g *Guard) measure() {
	used := Used
	if g.Used != nil {
		used = g.Used
	}
	now, most := used(), g.Limits.Value(limit.MaxMemory)
	switch {
	case now > most:
		if !g.reached {
			g.set(true)
			g.keep = g.keep[:0]
			for _, crowd := range g.Crowds {
				g.keep = append(g.keep, (crowd.Count()+1)/2)
			}
			g.Log.Warn("memory is above the limit: new work is refused", "limit", "--max-memory", "bytes", most, "used", now)
		}
		if g.above++; g.above%shedAfter == 0 {
			for i, crowd := range g.Crowds {
				crowd.Shed(g.keep[i])
			}
		}
		return
	case g.reached && now < percent(most, resumePercent):
		g.set(false)
		g.Log.Info("memory is below the limit: new work is served again", "limit", "--max-memory", "bytes", most, "used", now)
	}
	g.above = 0
}

func (g *Guard) set(reached bool) {
	g.reached = reached
	g.Limits.SetReached(limit.MaxMemory, reached)
}
