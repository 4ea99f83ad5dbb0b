// Command wasmstrip makes the module of wasm/guest smaller and faster: see package
// strip. If it does not know the Go release, it copies the module and prints a warning.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/watchglass/watchglass/wasm/strip"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run returns the exit code.
func run(args []string, stderr io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(stderr, "usage: wasmstrip LINKED.wasm SMALL.wasm")
		return 2
	}
	warning, err := strip.File(args[0], args[1], strip.GuestFunctions...)
	if err != nil {
		fmt.Fprintln(stderr, "wasmstrip:", err)
		return 1
	}
	if warning != "" {
		fmt.Fprintln(stderr, "wasmstrip: warning:", warning)
	}
	return 0
}
