package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// nodeEvent is a line of reporter.mjs.
type nodeEvent struct {
	Action, File, Test, Output string
	Seconds                    float64
}

// readNode reads what reporter.mjs prints.
func readNode(out io.Reader, messages io.Writer, each func(result)) error {
	printed := map[string]*strings.Builder{} // by file
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		var e nodeEvent
		switch {
		case err == nil && json.Unmarshal([]byte(line), &e) == nil:
			e.read(printed, each)
		case line != "": // a message of Node
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

func (e nodeEvent) read(printed map[string]*strings.Builder, each func(result)) {
	if printed[e.File] == nil {
		printed[e.File] = &strings.Builder{}
	}
	r := result{unit: e.File, test: e.Test, seconds: e.Seconds, output: e.Output}
	switch e.Action {
	case "pass":
	case "skip":
		r.outcome = skipped
	case "fail":
		r.outcome = failed
		if e.Test == "" {
			r.output = printed[e.File].String()
		}
	default:
		printed[e.File].WriteString(e.Output)
		return
	}
	each(r)
}
