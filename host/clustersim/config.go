package clustersim

import (
	"fmt"
	"math"
	"time"
)

// Config configures a simulation. The zero value is a cluster of 10,000 pods that
// changes 200 times a second.
type Config struct {
	// Pods is the initial number of pods. Scaling changes the number of pods, but keeps it
	// close to Pods. Zero means 10,000.
	Pods int
	// Rate is the approximate number of objects that Run writes per second. Zero
	// means 200.
	Rate float64
	// Seed determines the sequence of operations.
	Seed uint64
	// Namespaces is the number of namespaces. Zero means 12.
	Namespaces int
	// Nodes is the number of nodes. Zero means one per hundred pods, at least three.
	Nodes int
	// Now returns the current time, for timestamps in objects. Nil means time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() (Config, error) {
	rate := c.Rate >= 0 && !math.IsInf(c.Rate, 1) // false for NaN
	if c.Pods < 0 || !rate || c.Namespaces < 0 || c.Nodes < 0 {
		return c, fmt.Errorf("cluster simulation: pods %d, rate %v, namespaces %d and nodes %d: expected zero or more of each",
			c.Pods, c.Rate, c.Namespaces, c.Nodes)
	}
	if c.Pods == 0 {
		c.Pods = 10_000
	}
	if c.Rate == 0 {
		c.Rate = 200
	}
	if c.Namespaces == 0 {
		c.Namespaces = 12
	}
	if c.Nodes == 0 {
		c.Nodes = max(3, c.Pods/100)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}
