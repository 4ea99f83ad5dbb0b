// Command program exercises the features that a stripped module must support, and
// prints the results. Its argument selects the feature.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

func main() {
	switch os.Args[1] {
	case "recover":
		recovers()
	case "collect":
		collect()
	case "goroutines":
		goroutines()
	case "find":
		findBytes()
		findWords()
		findEnds()
	case "panic":
		var nobody *value
		nameOf(nobody)
	case "overflow":
		debug.SetMaxStack(1 << 20)
		fmt.Println(deep(1<<30, nil))
	case "deadlock":
		go func() { select {} }()
		<-make(chan int)
	case "memory":
		var all [][]byte
		for {
			all = append(all, make([]byte, 64<<20))
		}
	}
}

type named interface{ Name() string }

type value struct{ name string }

func (v value) Name() string { return v.name }

//go:noinline
func nameOf(n named) string { return n.Name() }

// try calls f, and prints the recovered value.
func try(what string, f func()) {
	defer func() {
		p := recover()
		if err, ok := p.(error); ok {
			var runtimeError runtime.Error
			p = fmt.Sprint(err, " ", errors.As(err, &runtimeError))
		}
		fmt.Println(what, "->", p)
	}()
	f()
	fmt.Println(what, "returned")
}

func recovers() {
	var none []int
	var nobody *value
	var anything any = "text"
	zero := len(none)
	try("index", func() { _ = none[zero+3] })
	try("slice", func() { _ = none[zero+2:] })
	try("nil", func() { _ = nobody.name })
	try("divide", func() { _ = 1 / zero })
	try("assert", func() { _ = anything.(int) })
	try("convert", func() { _ = [4]int(none) })
	try("interface", func() { _ = anything.(named) })
	try("wrapper", func() { nameOf(nobody) })
	try("map", func() { var m map[string]int; m["a"] = 1 })
	try("key", func() { _ = map[any]int{}[none] })
	try("func", func() { var f func(); f() })
	try("close", func() { close((chan int)(nil)) })
	try("goexit", func() {
		done := make(chan bool)
		go func() { defer close(done); runtime.Goexit() }()
		<-done
	})
	try("by a method", func() { defer catcher{"method"}.catch(); panic(1) })
	try("by a method of an interface", func() { defer catches(catcher{"interface"}).catch(); panic(2) })
	try("by a wrapped method", func() { defer catches(&catcher{"wrapped"}).catch(); panic(3) })
	try("by an embedded method", func() { defer catches(outer{&catcher{"embedded"}}).catch(); panic(4) })
	try("by a method as a value", func() { f := (&catcher{"bound"}).catch; defer f(); panic(5) })
	try("too deep", func() { defer func() { catcher{"no"}.catch() }(); panic(6) })
	try("too deep behind what is inlined", func() { defer func() { through(catcher{"no"}) }(); panic(7) })
	try("too deep in a wrapper", func() { defer catches(&helped{"no"}).catch(); panic(11) })
	try("at once", func() { defer recover(); panic(8) })
	try("anew", func() { defer func() { panic(fmt.Sprint("anew after ", recover())) }(); panic(9) })
	try("over", func() { defer func() { panic("second") }(); panic("first") })
	try("in a loop", func() {
		for i := range 3 {
			defer func() { fmt.Println("deferred", i, recover()) }()
		}
		panic(10)
	})
	fmt.Println(result())
}

type catches interface{ catch() }

type catcher struct{ name string }

func (c catcher) catch() { fmt.Println(c.name, "recovers", recover()) }

// The compiler inlines catch into its wrapper. For recover, the wrapper does not count
// as a function, but the inlined catch does.
type helped struct{ name string }

func (h helped) catch() { catcher{h.name}.catch() }

type outer struct{ *catcher }

func through(c catches) { c.catch() }

// result returns a text that a deferred function modifies.
func result() (text string) {
	defer func() { text += fmt.Sprint(", ", recover()) }()
	text = "set before"
	panic("panicked")
}

// deep makes the stack grow while pointers into the stack exist.
func deep(n int, up *int) int {
	local := n
	if up != nil {
		local += *up & 1
	}
	if n == 0 {
		runtime.GC()
		return local
	}
	return deep(n-1, &local) + local&3
}

type node struct {
	left, right *node
	name        string
	more        map[string][]*int
}

func tree(depth int) *node {
	if depth == 0 {
		return nil
	}
	n := &node{tree(depth - 1), tree(depth - 1), strings.Repeat("x", depth), map[string][]*int{}}
	for i := range depth {
		n.more[fmt.Sprint(i)] = append(n.more[fmt.Sprint(i%3)], &i)
	}
	return n
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	total := len(n.name)
	for _, list := range n.more {
		for _, i := range list {
			total += *i
		}
	}
	return total + n.left.sum() + n.right.sum()
}

// collect creates linked garbage while the garbage collector runs constantly.
func collect() {
	debug.SetGCPercent(1)
	kept := tree(8)
	before := kept.sum()
	for i := range 10 {
		fmt.Println(tree(7).sum(), deep(3000+i, nil))
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	fmt.Println(kept.sum() == before, stats.NumGC > 20)
}

// goroutines runs goroutines whose stacks grow and shrink while the garbage collector
// runs.
func goroutines() {
	debug.SetGCPercent(5)
	results, ticks := make(chan int), time.NewTicker(time.Millisecond)
	for i := range 50 {
		go func() {
			defer func() { results <- recover().(int) }()
			total := deep(100*i, nil)
			<-ticks.C
			runtime.GC()
			panic(total + tree(4).sum())
		}()
	}
	total := 0
	for range 50 {
		total += <-results
	}
	fmt.Println(total)
}
