//go:build wasip1

// Command empty is a minimal Go reactor. Figure P7 compares the module with it.
package main

func main() {}

//go:wasmexport nothing
func nothing() {}
