// Command sim runs the simulation of package core/sim over many seeds.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/watchglass/watchglass/core/sim"
)

func main() {
	debug.SetGCPercent(400) // the tests of core/sim use the same percentage
	seeds := flag.Int("seeds", 300, "number of seeds to run")
	first := flag.Uint64("seed", 1, "first seed")
	workers := flag.Int("workers", runtime.NumCPU(), "how many at a time")
	stop := flag.Bool("stop", false, "run one after the other and stop at the first violation, without shortening it")
	flag.Parse()
	if *stop {
		stopAtFirst(*first, *seeds)
		return
	}
	report := sim.Campaign(*first, *seeds, *workers, os.Stdout)
	fmt.Printf("situations seen\n%s", report.Seen.String())
	for _, r := range report.Failures[:min(len(report.Failures), sim.MaxFailures)] {
		fmt.Printf("\n%s", sim.Explain(r))
	}
	failed := len(report.Failures) > 0
	if missing := report.Seen.Missing(); len(missing) > 0 && *seeds >= 300 {
		fmt.Printf("never seen: %q\n", missing)
		failed = true
	}
	fmt.Printf("sim: %d seeds, %d operations, %d violations\n", report.Seeds, report.Operations, len(report.Failures))
	if failed {
		os.Exit(1)
	}
}

func stopAtFirst(first uint64, seeds int) {
	for seed := first; seed < first+uint64(seeds); seed++ {
		if r := sim.Run(seed, sim.Program(seed), sim.Setup{}); r.Err != nil {
			fmt.Printf("sim: seed %d: %v\n", seed, r.Err)
			os.Exit(1)
		}
	}
	fmt.Printf("sim: %d seeds, 0 violations\n", seeds)
}
