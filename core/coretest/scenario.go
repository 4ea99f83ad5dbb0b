package coretest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Scenario is a parsed scenario file.
type Scenario struct {
	// Name is the file name without its extension.
	Name string
	// Rules and Mutants come from the header: the rules that the scenario shows, and
	// the mutants that it must detect.
	Rules, Mutants []string

	path  string
	lines []string
	steps []step
}

// step is a list of verb lines and the engine's expected output.
type step struct {
	verbs []*verb
	want  string
	// from and to delimit the lines of the output, which a rewrite replaces.
	from, to int
}

const separator = "----"

// Load reads a scenario. A syntax error names the file and the line.
func Load(path string) (*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(path, string(data))
}

// LoadAll reads every scenario of a directory, in the order of the file names.
func LoadAll(dir string) ([]*Scenario, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no scenarios (*.txt) in %s", dir)
	}
	var all []*Scenario
	for _, path := range paths {
		s, err := Load(path)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func parse(path, text string) (*Scenario, error) {
	s := &Scenario{
		Name: strings.TrimSuffix(filepath.Base(path), ".txt"), path: path,
		lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n"),
	}
	s.parseHeader()
	for at := 0; at < len(s.lines); {
		if line := s.lines[at]; line == "" || strings.HasPrefix(line, "#") {
			at++
			continue
		}
		var err error
		if at, err = s.parseStep(at); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// parseHeader parses the lines "# Rules: " and "# Mutants: " of the comment at the
// start of the file.
func (s *Scenario) parseHeader() {
	for _, line := range s.lines {
		text, ok := strings.CutPrefix(line, "#")
		if !ok {
			return
		}
		key, list, _ := strings.Cut(strings.TrimSpace(text), ": ")
		names := strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' })
		switch key {
		case "Rules":
			s.Rules = append(s.Rules, names...)
		case "Mutants":
			s.Mutants = append(s.Mutants, names...)
		}
	}
}

// parseStep parses the step that begins at a line, and returns the index of the
// following line.
func (s *Scenario) parseStep(at int) (int, error) {
	var st step
	for ; at < len(s.lines) && s.lines[at] != separator; at++ {
		line := s.lines[at]
		switch {
		case line == "":
			return 0, s.errorAt(at, "a step ends with a line of four dashes and the output of the engine; put %q before the blank line", separator)
		case strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, " "):
			v, err := newVerb(at, line)
			if err != nil {
				return 0, s.errorAt(at, "%w", err)
			}
			st.verbs = append(st.verbs, v)
		case len(st.verbs) == 0:
			return 0, s.errorAt(at, "an indented line belongs to the verb above it, and there is none")
		default:
			last := st.verbs[len(st.verbs)-1]
			last.block = append(last.block, blockLine{at, strings.TrimSpace(line)})
		}
	}
	if at == len(s.lines) {
		return 0, s.errorAt(at-1, "the last step has no %q; add it", separator)
	}
	st.from = at + 1
	for at++; at < len(s.lines) && s.lines[at] != ""; at++ {
		st.want += s.lines[at] + "\n"
	}
	st.to = at
	s.steps = append(s.steps, st)
	return at, nil
}

func (s *Scenario) errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", s.path, line+1, fmt.Errorf(format, args...))
}

// rewritten returns the text of the file with the given outputs in place of the old ones.
func (s *Scenario) rewritten(outputs []string) string {
	var b strings.Builder
	at := 0
	keep := func(to int) {
		for ; at < to; at++ {
			b.WriteString(s.lines[at] + "\n")
		}
	}
	for i, st := range s.steps {
		keep(st.from)
		b.WriteString(outputs[i])
		at = st.to
	}
	keep(len(s.lines))
	return b.String()
}
