//go:build wasip1

// Command empty is the least that a Go reactor can be: what figure P7 compares
// the module with.
package main

func main() {}

//go:wasmexport nothing
func nothing() {}
