package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/watchglass/watchglass/host/internal/interrupt"
	"github.com/watchglass/watchglass/host/internal/terminal"
)

func main() {
	os.Exit(run(interrupt.Context(), os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit code. It removes terminal control
// sequences from the output, which may contain text from servers and readers.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = terminal.NewWriter(stdout), terminal.NewWriter(stderr)
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(stderr, "Error:", err)
		return 1
	}
	return 0
}
