// Command profiles traces and profiles itself, and prints which kinds of data it has
// collected.
package main

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/trace"
)

var kept [][]byte

func main() {
	runtime.MemProfileRate = 1
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		fmt.Println(err)
	}
	done := make(chan bool)
	go func() {
		for range 100 {
			kept = append(kept, make([]byte, 100))
			runtime.Gosched()
		}
		close(done)
	}()
	<-done
	trace.Stop()
	runtime.GC()
	runtime.GC()
	memory, _ := runtime.MemProfile(nil, true)
	blocks, _ := runtime.BlockProfile(nil)
	goroutines, _ := runtime.GoroutineProfile(make([]runtime.StackRecord, 10))
	fmt.Println("events:", out.Len() > 1000)
	fmt.Println("allocations:", memory > 0, "blocked:", blocks > 0, "goroutines:", goroutines)
}
