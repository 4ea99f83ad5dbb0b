package main

// main is never called: a reactor is entered through its exports.
func main() {}
