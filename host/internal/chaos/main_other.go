//go:build !unix

package main

import "log"

func main() { log.Fatal("chaos: the faults need SIGSTOP and SIGCONT") }
