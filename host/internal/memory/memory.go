package memory

import (
	"context"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/watchglass/watchglass/host/limit"
)

// ceilingPercent is a percentage of the available memory, and the others are percentages
// of max-memory. A process above max-memory refuses work until it uses less than resumePercent
// of max-memory. resumePercent is above targetPercent, the garbage collector's target, so that
// garbage alone cannot prolong the refusals.
const (
	ceilingPercent = 90 // of the memory of the cgroup or the machine
	targetPercent  = 90
	resumePercent  = 95
)

// growthPercent is how much a connector's heap may grow between two runs of the garbage
// collector, in percent of the live heap. A run delays deliveries, so fewer runs reduce
// the 99th percentile of the delivery times; see host/PERFORMANCE.md.
const growthPercent = 300

const (
	// Interval is the time between two measurements.
	Interval = 250 * time.Millisecond
	// shedAfter is the number of consecutive measurements above the limit after
	// which readers are disconnected.
	shedAfter = 4
)

// Ceiling returns the default of max-memory in bytes. The result ok is false if the
// available memory is unknown or unlimited.
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

// Used returns the memory of the process in bytes, as the package documentation defines
// it.
func Used() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// Collect sets the garbage collector's target below the limit, unless the
// environment variable GOMEMLIMIT sets another target.
func Collect(limits *limit.Set) {
	if most := limits.Value(limit.MaxMemory); os.Getenv("GOMEMLIMIT") == "" && most < limit.Unlimited {
		debug.SetMemoryLimit(percent(most, targetPercent))
	}
}

// CollectLess makes the garbage collector run less often, unless the environment
// variable GOGC sets its frequency or the memory has no limit. The target of [Collect]
// still applies, so the collector runs more often as memory approaches it.
func CollectLess() {
	if os.Getenv("GOGC") == "" && debug.SetMemoryLimit(-1) < math.MaxInt64 {
		debug.SetGCPercent(growthPercent)
	}
}

func percent(bytes, percent int64) int64 { return bytes / 100 * percent }

// Crowd is the set of the readers of a connector, or of the watches of a Kubernetes API.
// The comments below call both kinds readers.
type Crowd interface {
	// Count returns the number of readers.
	Count() int
	// Shed disconnects the newest readers of the heaviest clients. It disconnects one
	// percent of all readers and at least one, but always leaves at least "keep" readers
	// connected.
	Shed(keep int)
}

// Guard measures the memory of the process periodically. It marks max-memory as reached
// once memory exceeds the limit, and until memory falls below resumePercent of the limit.
// After a second above the limit, Guard begins to disconnect readers. Half of the readers
// of each Crowd always stay connected.
type Guard struct {
	Limits *limit.Set
	Crowds []Crowd
	Log    *slog.Logger
	Used   func() int64 // nil means [Used]

	reached bool
	above   int   // consecutive measurements above the limit
	keep    []int // for each crowd, the number of readers that stay connected
}

// Run measures the memory every Interval until ctx is done.
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
