package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// goEvent is the content of one output line of "go test -json".
type goEvent struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// readGo parses the output of "go test -json".
func readGo(out io.Reader, messages io.Writer, each func(result)) error {
	g := goReader{messages: messages, each: each, output: map[[2]string]*strings.Builder{}}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		var e goEvent
		switch {
		case err == nil && json.Unmarshal([]byte(line), &e) == nil:
			g.event(e)
		case line != "": // a message of the go command
			fmt.Fprint(messages, line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

type goReader struct {
	messages io.Writer
	each     func(result)
	output   map[[2]string]*strings.Builder // output of tests and packages that have not ended
}

func (g *goReader) event(e goEvent) {
	key := [2]string{e.Package, e.Test}
	if e.Action == "build-output" {
		fmt.Fprint(g.messages, e.Output)
		return
	}
	if g.output[key] == nil {
		g.output[key] = &strings.Builder{}
	}
	output := g.output[key]
	output.WriteString(e.Output)
	r := result{unit: e.Package, test: e.Test, seconds: e.Elapsed}
	switch e.Action {
	case "pass":
		r.cached = e.Test == "" && strings.Contains(output.String(), "\t(cached)")
	case "skip":
		r.outcome, r.output = skipped, output.String()
	case "fail":
		if e.Test == "" {
			g.unfinished(e.Package)
		}
		r.outcome, r.output = failed, output.String()
	default:
		return
	}
	delete(g.output, key)
	g.each(r)
}

// unfinished reports tests as failed if they were still running when their package ended
// because of a timeout or crash. The output of one of these tests contains the reason.
func (g *goReader) unfinished(pkg string) {
	keys := slices.SortedFunc(maps.Keys(g.output), func(a, b [2]string) int { return strings.Compare(a[1], b[1]) })
	for _, key := range keys {
		if key[0] != pkg || key[1] == "" {
			continue
		}
		output := g.output[key].String() + "    the package ended before this test\n"
		delete(g.output, key)
		g.each(result{unit: pkg, test: key[1], outcome: failed, output: output})
	}
}
