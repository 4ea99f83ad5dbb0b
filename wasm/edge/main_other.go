//go:build !(js && wasm)

package main

import "fmt"

func main() { fmt.Println("this is a worker: build it with GOOS=js GOARCH=wasm") }
