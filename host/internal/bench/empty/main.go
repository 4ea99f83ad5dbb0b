//go:build wasip1

// Command empty is a minimal Go reactor, a WebAssembly module without a main function.
// Figure P7 compares the size of our module with the size of this one.
package main

func main() {}

//go:wasmexport nothing
func nothing() {}
