//go:build wasip1

// Command empty is a minimal Go reactor, with which figure P7 compares the module.
package main

func main() {}

//go:wasmexport nothing
func nothing() {}
