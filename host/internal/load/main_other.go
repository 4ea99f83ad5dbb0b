//go:build !linux

package main

import "log"

func main() { log.Fatal("load: it reads the connector's memory from /proc") }
