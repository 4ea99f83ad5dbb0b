package main

// main is never called, because programs call a reactor through its exports.
func main() {}
