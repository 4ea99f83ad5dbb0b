// Command wasmstrip makes WebAssembly modules built by Go smaller, and the module of
// wasm/guest also faster. See package strip. If the Go release is unknown, wasmstrip
// copies the module and prints a warning.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/watchglass/watchglass/wasm/strip"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run runs the command and returns its exit code.
func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("wasmstrip", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: wasmstrip [-guest] LINKED.wasm SMALL.wasm")
		flags.PrintDefaults()
	}
	guest := flags.Bool("guest", false, "fail if a function is missing that is replaced in the module of wasm/guest")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 2 {
		flags.Usage()
		return 2
	}
	var required []string
	if *guest {
		required = strip.GuestFunctions
	}
	warning, err := strip.File(flags.Arg(0), flags.Arg(1), required...)
	if err != nil {
		fmt.Fprintln(stderr, "wasmstrip:", err)
		return 1
	}
	if warning != "" {
		fmt.Fprintln(stderr, "wasmstrip: warning:", warning)
	}
	return 0
}
