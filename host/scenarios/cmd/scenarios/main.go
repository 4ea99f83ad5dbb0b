// Command scenarios runs the scenarios in every runtime and prints the differences.
// Run it from the root of a checkout.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/watchglass/watchglass/host/scenarios"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: scenarios\nIt has no flags and no arguments: it runs all scenarios. .github/CONTRIBUTING.md shows how to run one.")
	}
	if flag.Parse(); flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	// An interrupt stops the runtimes as well.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	differences, err := scenarios.Run(ctx, scenarios.Tree{Root: "."}, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if differences > 0 {
		os.Exit(1)
	}
}
