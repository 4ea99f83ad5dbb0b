// Command mutants applies each mutant of core/sim/mutants, and reports whether the tests,
// scenarios and simulation seeds that claim to catch the mutant fail. Run it from the
// root of a checkout.
//
//	make mutants
//	make mutants MUTANTS='drain|bookmark'
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/watchglass/watchglass/host/internal/rulebook"
)

func main() {
	run := flag.String("run", "", "only mutants whose name matches this regular expression")
	workers := flag.Int("workers", runtime.NumCPU(), "how many mutants to build and run at a time")
	survey := flag.Bool("survey", false, "run every scenario against every mutant, and the tests that cite its rules, and print which of them fail")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mutants(ctx, *run, *workers, *survey); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func mutants(ctx context.Context, run string, workers int, survey bool) error {
	wanted, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	claims, err := rulebook.LoadClaims(".")
	if err != nil {
		return err
	}
	claims.Keep(func(m *rulebook.Mutant) bool { return wanted.MatchString(m.Name) })
	if len(claims.Mutants) == 0 {
		return fmt.Errorf("-run %q: no mutant has such a name; they are in core/sim/mutants", run)
	}
	temp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if survey {
		tests, err := rulebook.LoadGoTests(".")
		if err != nil {
			return err
		}
		claims.ClaimAll(tests)
	} else if err := claims.Check(); err != nil {
		return err
	}
	runner := &rulebook.Runner{Root: ".", Temp: temp}
	if !survey {
		if err := runner.Baseline(ctx, claims); err != nil {
			return err
		}
	}
	return runAll(ctx, runner, claims, workers, survey)
}

func runAll(ctx context.Context, runner *rulebook.Runner, claims *rulebook.Claims, workers int, survey bool) error {
	next := make(chan *rulebook.Mutant)
	go func() {
		defer close(next)
		for _, m := range claims.Mutants {
			next <- m
		}
	}()
	var (
		mu       sync.Mutex
		caught   int
		problems []string
		group    sync.WaitGroup
	)
	for range workers {
		group.Go(func() {
			for m := range next {
				start := time.Now()
				result, err := runner.Run(ctx, m, claims.Scenarios[m.Name])
				mu.Lock()
				switch {
				case err != nil:
					problems = append(problems, err.Error())
					fmt.Printf("ERROR   %-50s %v\n", m.Name, err)
				case survey:
					fmt.Printf("%s: %s\n", m.Name, strings.Join(result.Caught, ", "))
				case len(result.Missed) > 0:
					problems = append(problems, m.Name)
					fmt.Printf("MISSED  %-50s by %s\n", m.Name, strings.Join(result.Missed, ", "))
				default:
					caught++
					fmt.Printf("caught  %-50s %4.1fs  %s\n", m.Name, time.Since(start).Seconds(), strings.Join(result.Caught, ", "))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if survey {
		return nil
	}
	fmt.Printf("mutants: %d/%d caught by the tests that claim them\n", caught, len(claims.Mutants))
	if len(problems) > 0 {
		return fmt.Errorf("%d mutants are not caught; see MISSED and ERROR above", len(problems))
	}
	return nil
}
