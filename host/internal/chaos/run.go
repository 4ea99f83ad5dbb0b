//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchglass/watchglass/core/api"
)

// Config configures a run.
type Config struct {
	Seed     uint64
	Duration time.Duration // no round starts after this time
	Hold     time.Duration // the longest duration of a fault
	Objects  int
	Rate     float64        // transactions per second
	Only     *regexp.Regexp // the kinds of faults to inject; nil means all
	Once     bool           // end after each kind of fault was injected once
	Nudge    bool           // make readers that are not current reconnect, as a page does when the network returns
	Binary   string         // path of the watchglass binary
	Package  string         // directory of the built npm package
	Chromium string
	Dir      string    // for recordings and logs
	Out      io.Writer // progress
}

const (
	// patience limits every wait after a fault has been healed. The limit is generous,
	// because only a failing run reaches it.
	patience = 3 * time.Minute
	// flow is the number of transactions that the writers commit before a fault, and
	// again after it.
	flow = 20
)

// run is the state of a run.
type run struct {
	Config
	*world
	random *rand.Rand
	report *report
	rounds int
}

// Run injects faults until the duration has passed or a round fails. The error describes
// a violation, or why the run could not continue. The report is never nil.
func Run(ctx context.Context, c Config) (*report, error) {
	r := &run{Config: c, random: rand.New(rand.NewPCG(c.Seed, 0)), report: newReport(c.Seed)}
	started := time.Now()
	starting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var err error
	r.world, err = build(starting, c)
	defer r.world.close()
	if err != nil {
		return r.report, err
	}
	var next []fault
	for time.Since(started) < c.Duration && ctx.Err() == nil {
		if len(next) == 0 {
			if c.Once && r.rounds > 0 {
				return r.report, nil
			}
			next = r.shuffled()
		}
		if err := r.round(ctx, next[0]); err != nil {
			r.report.violated(next[0].name, err)
			return r.report, fmt.Errorf("round %d, %s: %w", r.rounds, next[0].name, err)
		}
		next = next[1:]
	}
	return r.report, ctx.Err()
}

func (r *run) shuffled() []fault {
	all := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return r.Only != nil && !r.Only.MatchString(f.name) })
	r.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// round injects one fault and checks the readers.
func (r *run) round(ctx context.Context, f fault) error {
	r.rounds++
	result := &result{fault: f.name}
	hold := r.Hold/4 + time.Duration(r.random.Int64N(int64(r.Hold*3/4)))
	if f.between {
		if err := r.rewrite(ctx, f, result); err != nil {
			return err
		}
	}
	err := r.recorded(ctx, result, func(ctx context.Context) error {
		if f.between {
			return nil
		}
		return r.disturb(ctx, f, hold)
	})
	if err != nil {
		return err
	}
	r.report.add(result)
	_, err = fmt.Fprintf(r.Out, "round %3d  %s\n", r.rounds, result)
	return err
}

// rewrite injects a fault that reverts recorded history. Watches that were opened before
// the fault must end with 410.
func (r *run) rewrite(ctx context.Context, f fault, result *result) error {
	if err := r.etcd.backup(ctx, r.backup()); err != nil {
		return fmt.Errorf("back etcd up: %w", err)
	}
	defer os.Remove(r.backup())
	// The fault reverts the changes that this recording contains.
	if err := r.recorded(ctx, result, func(ctx context.Context) error { return r.writers.progress(ctx, flow) }); err != nil {
		return fmt.Errorf("before the fault: %w", err)
	}
	expired := make([]func(context.Context) error, len(r.readers))
	err := r.each(func(i int, reader reader) (err error) { expired[i], err = reader.expire(ctx); return err })
	if err != nil {
		return err
	}
	if _, err := f.inject(ctx, r.world, r.random); err != nil {
		return err
	}
	result.restored = true
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.each(func(i int, _ reader) error { return expired[i](bounded) })
}

func (r *run) disturb(ctx context.Context, f fault, hold time.Duration) error {
	if err := r.writers.progress(ctx, flow); err != nil {
		return err
	}
	heal, err := f.inject(ctx, r.world, r.random)
	if err != nil {
		return err
	}
	pause(ctx, hold)
	return heal(ctx)
}

// recorded calls the function disturb while the writers run, records the data that the
// readers receive, and verifies the recordings. The readers must become current after
// disturb has returned.
func (r *run) recorded(ctx context.Context, result *result, disturb func(context.Context) error) error {
	if err := r.equal(ctx, result); err != nil {
		return fmt.Errorf("before the round: %w", err)
	}
	if err := r.begin(ctx); err != nil {
		return fmt.Errorf("begin to record: %w", err)
	}
	r.writers.resume()
	bounded, cancel := context.WithTimeout(ctx, r.Hold+patience)
	defer cancel()
	if err := disturb(bounded); err != nil {
		return err
	}
	if err := r.converge(ctx, result); err != nil {
		return err
	}
	if err := r.writers.progress(bounded, flow); err != nil {
		return err
	}
	r.writers.pause()
	if err := r.equal(ctx, nil); err != nil {
		return err
	}
	if err := r.end(ctx, result); err != nil {
		return fmt.Errorf("end the recordings: %w", err)
	}
	return errors.Join(r.verify(result), r.alive())
}

// converge measures how long each reader takes to become current.
func (r *run) converge(ctx context.Context, result *result) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	healed := time.Now()
	rv, err := r.writers.mark(ctx)
	if err != nil {
		return err
	}
	took := make([]time.Duration, len(r.readers))
	err = r.each(func(i int, reader reader) error {
		nudged := time.Time{}
		err := until(ctx, func() error {
			if r.Nudge && time.Since(nudged) > time.Second {
				nudged = time.Now()
				if err := reader.reconnect(ctx); err != nil {
					return err
				}
			}
			return reader.current(ctx, rv)
		})
		took[i] = time.Since(healed)
		return err
	})
	if !result.restored {
		result.converged = append(result.converged, took...)
	}
	return err
}

// equal waits until each reader's store equals etcd. If result is nil, the state that
// results from the reader's watch must equal etcd as well. After a restore, equal adds
// the waiting times to result.converged.
func (r *run) equal(ctx context.Context, result *result) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	started := time.Now()
	for {
		rv, err := r.writers.mark(ctx)
		if err != nil {
			return err
		}
		want, _, err := stored(ctx, r.etcd.client)
		if err != nil {
			return err
		}
		took := make([]time.Duration, len(r.readers))
		err = r.each(func(i int, reader reader) error {
			err := r.same(ctx, reader, rv, want, result == nil)
			took[i] = time.Since(started)
			return err
		})
		if err != nil {
			return err
		}
		// A write that timed out may have changed etcd during the comparison. If so,
		// compare again.
		after, _, err := stored(ctx, r.etcd.client)
		if err != nil {
			return err
		}
		if maps.Equal(want, after) {
			if result != nil && result.restored {
				result.converged = append(result.converged, took...)
			}
			return nil
		}
	}
}

func (r *run) same(ctx context.Context, reader reader, rv api.ResourceVersion, all contents, watching bool) error {
	collected, watched := reader.asked()
	want := all.within(collected)
	selected := want.within(watched).versions()
	if _, page := reader.(*pageReader); page {
		var err error
		if want, err = want.canonical(); err != nil {
			return err
		}
	}
	return until(ctx, func() error {
		if err := reader.current(ctx, rv); err != nil {
			return err
		}
		got, err := reader.list(ctx)
		if _, page := reader.(*pageReader); page && err == nil {
			got, err = got.canonical()
		}
		if err == nil {
			err = differences(got, want)
		}
		if err != nil || !watching {
			return err
		}
		delivered, err := reader.delivered(ctx)
		if err != nil {
			return err
		}
		if !maps.Equal(delivered, selected) {
			return fmt.Errorf("%w: its watch delivered a state of %d objects that differs from the %d in etcd", errLost, len(delivered), len(selected))
		}
		return nil
	})
}

// until calls f until f returns nil. If ctx is done first, it returns errNotConverged with the
// last error of f.
func until(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return err
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("%w: %w", errNotConverged, err)
		}
	}
}

// each calls f for all readers concurrently.
func (r *run) each(f func(i int, reader reader) error) error {
	var all errgroup.Group
	for i, reader := range r.readers {
		all.Go(func() error {
			if err := f(i, reader); err != nil {
				return fmt.Errorf("reader %s: %w", reader.name(), err)
			}
			return nil
		})
	}
	return all.Wait()
}

func (r *run) file(name string) string {
	return filepath.Join(r.Dir, fmt.Sprintf("round-%03d-%s.jsonl", r.rounds, strings.ReplaceAll(name, " ", "-")))
}

// begin starts all recordings of a round. The witness starts first, so that its recording
// covers all changes that the readers receive.
func (r *run) begin(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if r.witness, err = observe(context.WithoutCancel(ctx), r.etcd.client, r.file("etcd")); err != nil {
		return err
	}
	state := r.random.IntN(2) == 0
	return r.each(func(_ int, reader reader) error {
		err := until(ctx, func() error { return reader.current(ctx, api.ResourceVersion(r.witness.at.Load())) })
		if err == nil {
			err = reader.begin(ctx, r.file(reader.name()), state)
		}
		return err
	})
}

func (r *run) end(ctx context.Context, result *result) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, rv, err := stored(ctx, r.etcd.client)
	if err != nil {
		return err
	}
	result.relists = make([]int, len(r.readers))
	for i, reader := range r.readers {
		events, relists, err := reader.end(ctx)
		if err != nil {
			return fmt.Errorf("reader %s: %w", reader.name(), err)
		}
		result.events += events
		result.relists[i] = relists
	}
	if err := r.witness.reach(ctx, rv); err != nil {
		return err
	}
	result.changes += int(r.witness.changes.Load())
	return r.witness.close()
}

// verify checks the recordings of the round. If it finds no violation, it removes the
// recordings.
func (r *run) verify(result *result) error {
	err := r.each(func(i int, reader reader) error {
		files := []string{r.file(reader.name())}
		if reader.verifiable(result.relists[i]) {
			files = append(files, r.file("etcd"))
		}
		return verify(files)
	})
	if err != nil {
		return err
	}
	err = os.Remove(r.file("etcd"))
	for _, reader := range r.readers {
		err = errors.Join(err, os.Remove(r.file(reader.name())))
	}
	return err
}
