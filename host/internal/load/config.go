//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"
)

// Config configures a measurement.
type Config struct {
	Readers    int // number of readers; 10 % of them are slow and 1 % never read
	Idle       int // connections without a subscription
	Informers  int // watches of the Kubernetes API
	FirstSyncs int // concurrent first syncs
	Objects    int
	Pods       int           // if not zero, a simulated cluster replaces Objects; for the sizing table
	Rate       float64       // changes per second
	Window     time.Duration // duration of each measurement; zero ends each abuse as soon as a limit has refused it
	Rounds     int           // measurements per kind of abuse; a measurement without the abuse precedes each of them
	Ceiling    int64         // limit of the connector's memory, in bytes
	Scale      int           // strength of the abuse, in percent
	Only       string        // regular expression that selects abuses by name; empty selects all
	Serve      []string      // further flags of the connector
	Binary     string
	Dir        string // directory for logs
	Out        io.Writer
}

func (c *Config) add(flags *flag.FlagSet) {
	flags.IntVar(&c.Readers, "readers", 5000, "WebSocket readers of all objects; 10 % are slow and 1 % never read")
	flags.IntVar(&c.Idle, "idle", 10_000, "authenticated connections without a subscription")
	flags.IntVar(&c.Informers, "informers", 500, "watches of the Kubernetes API")
	flags.IntVar(&c.FirstSyncs, "first-syncs", 1000, "readers that ask for the whole state at the same time")
	flags.IntVar(&c.Objects, "objects", 2000, "objects in the cluster, of half a kilobyte each")
	flags.Float64Var(&c.Rate, "rate", 2, "changes per second")
	flags.DurationVar(&c.Window, "window", 30*time.Second, "duration of each measurement")
	flags.IntVar(&c.Rounds, "rounds", 5, "measurements of each kind of abuse, each after one without it; with fewer than 100 changes in all of them the slowest one decides the 99th percentile")
	flags.Int64Var(&c.Ceiling, "ceiling", 2<<30, "memory that the connector may use, in bytes")
	flags.IntVar(&c.Scale, "scale", 100, "strength of the abuse, in percent")
	flags.StringVar(&c.Only, "only", "", "run the kinds of abuse whose names match this `regexp`")
	flags.StringVar(&c.Binary, "binary", "build/watchglass", "the watchglass binary")
	flags.StringVar(&c.Dir, "dir", "build/load", "directory for the logs of the processes")
}

func (c *Config) validate() error {
	if c.Readers < 1 || c.Idle < 0 || c.Informers < 0 || c.FirstSyncs < 1 || c.Objects < 1 || c.Rate <= 0 || c.Scale < 1 || c.Rounds < 1 {
		return errors.New("-readers, -first-syncs, -objects, -rate, -scale and -rounds must be positive, and -idle and -informers not negative")
	}
	if _, err := regexp.Compile(c.Only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if len(c.selected()) == 0 {
		return fmt.Errorf("-only %s matches no kind of abuse", c.Only)
	}
	return nil
}

// selected returns the kinds of abuse whose names match Only.
func (c *Config) selected() []*abuse {
	only := regexp.MustCompile(c.Only)
	return slices.DeleteFunc(abuses(*c), func(a *abuse) bool { return !only.MatchString(a.name) })
}

// scaled returns Scale percent of n, but at least 2.
func (c *Config) scaled(n int) int { return max(2, n*c.Scale/100) }
