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

// nodeEvent is the content of one output line of reporter.mjs.
type nodeEvent struct {
	Action, File, ID, Test, Output string
	Seconds                        float64
}

// readNode parses the output of reporter.mjs.
func readNode(out io.Reader, messages io.Writer, each func(result)) error {
	n := nodeReader{each: each, files: map[string]*nodeFile{}}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		var e nodeEvent
		switch {
		case err == nil && json.Unmarshal([]byte(line), &e) == nil:
			n.event(e)
		case line != "": // a message of Node
			fmt.Fprint(messages, line)
		}
		if errors.Is(err, io.EOF) {
			n.cutOff()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

type nodeReader struct {
	each  func(result)
	files map[string]*nodeFile
}

// nodeFile is a test file that has not ended.
type nodeFile struct {
	printed strings.Builder
	running map[string]string // names of the running tests, by ID
}

func (n *nodeReader) event(e nodeEvent) {
	f := n.files[e.File]
	if f == nil {
		f = &nodeFile{running: map[string]string{}}
		n.files[e.File] = f
	}
	r := result{unit: e.File, test: e.Test, seconds: e.Seconds, output: e.Output}
	switch e.Action {
	case "run":
		f.running[e.ID] = e.Test
		return
	case "end":
		delete(f.running, e.ID)
		return
	case "pass":
	case "skip":
		r.outcome = skipped
	case "fail":
		r.outcome = failed
	default:
		f.printed.WriteString(e.Output)
		return
	}
	if e.Test == "" {
		if r.outcome == failed {
			n.unfinished(e.File)
			r.output = f.printed.String()
		}
		delete(n.files, e.File)
	}
	n.each(r)
}

// unfinished reports tests as failed if they were still running when their file ended because
// of a timeout or crash.
func (n *nodeReader) unfinished(file string) {
	for _, test := range slices.Sorted(maps.Values(n.files[file].running)) {
		n.each(result{unit: file, test: test, outcome: failed, output: "    the file ended before this test\n"})
	}
}

// cutOff reports files as failed if they had not ended when Node exited.
func (n *nodeReader) cutOff() {
	for _, file := range slices.Sorted(maps.Keys(n.files)) {
		n.unfinished(file)
		n.each(result{unit: file, outcome: failed, output: n.files[file].printed.String()})
	}
}
