//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	browser "github.com/watchglass/watchglass/host/internal/chromium"
)

func main() {
	if member := os.Getenv(memberVariable); member != "" {
		runMember(member)
	}
	var err error
	c := Config{Out: os.Stdout}
	flag.Uint64Var(&c.Seed, "seed", 1, "what determines the faults, their targets and their order")
	flag.DurationVar(&c.Duration, "duration", 20*time.Minute, "no fault is injected after this time")
	flag.DurationVar(&c.Hold, "hold", 8*time.Second, "the longest duration of a fault")
	flag.IntVar(&c.Objects, "objects", 2000, "objects that are changed")
	flag.Float64Var(&c.Rate, "rate", 450, "transactions per second")
	only := flag.String("only", "", "regular expression of the kinds of faults to inject (default all)")
	flag.BoolVar(&c.Nudge, "nudge", false, "ask clients that are not current to reconnect, instead of waiting for their back-off")
	flag.StringVar(&c.Binary, "binary", "build/watchglass", "the watchglass binary")
	flag.StringVar(&c.Package, "package", "js/dist", "the built npm package")
	flag.StringVar(&c.Dir, "dir", "", "directory for recordings and logs (default build/chaos/seed-N)")
	flag.Parse()
	log.SetFlags(0)
	if c.Only, err = regexp.Compile(*only); err != nil {
		log.Fatal("chaos: -only: ", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runCommand(ctx, c); err != nil {
		log.Fatal("chaos: ", err)
	}
}

func runCommand(ctx context.Context, c Config) (err error) {
	if c.Dir == "" {
		c.Dir = filepath.Join("build", "chaos", fmt.Sprintf("seed-%d", c.Seed))
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return err
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return err
	}
	if c.Chromium, err = browser.Find(); err != nil {
		return err
	}
	report, err := Run(ctx, c)
	if failed := report.print(c.Out); failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("seed %d: %w\nrecordings and logs are in %s", c.Seed, err, c.Dir)
	}
	return os.RemoveAll(c.Dir)
}
