// Command wasmstrip makes a module that Go built smaller, as package strip says.
package main

import (
	"fmt"
	"os"

	"github.com/watchglass/watchglass/wasm/strip"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: wasmstrip LINKED.wasm SMALL.wasm")
		os.Exit(2)
	}
	if err := strip.File(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "wasmstrip:", err)
		os.Exit(1)
	}
}
