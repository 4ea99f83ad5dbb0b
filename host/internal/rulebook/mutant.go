package rulebook

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// MutantDir is the directory of the mutants, relative to the root of the repository.
const MutantDir = "core/sim/mutants"

// Mutant describes one deliberate bug.
type Mutant struct {
	Name  string // the file name without its extension
	What  string // the wrong behavior, in one sentence
	Rules []string
	// Tests are the Go tests that must fail.
	Tests []Test
	// Seeds is the number of simulation seeds to run, beginning with seed 1. At least one
	// of these seeds must fail. Zero means that the simulation does not run.
	Seeds int

	path  string
	hunks []hunk
}

// Test is one Go test, or a subtest such as TestA/b.
type Test struct{ Package, Name string }

func (t Test) String() string { return t.Package + " " + t.Name }

// hunk replaces consecutive lines in one file.
type hunk struct {
	line    int // line number in the mutant file
	file    string
	find    []string
	replace []string
}

const mutantGrammar = `a mutant begins with "# " lines that describe the defect, then has "rules:", "test:" and "sim:" lines, ` +
	`then hunks: "@@ FILE" and lines that begin with "-" (removed), "+" (added) or " " (kept)`

// LoadMutants reads the mutants of the repository at root, sorted by name.
func LoadMutants(root string) ([]*Mutant, error) {
	paths, err := filepath.Glob(filepath.Join(root, MutantDir, "*.mutant"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no mutants (*.mutant) in %s", filepath.Join(root, MutantDir))
	}
	var all []*Mutant
	for _, file := range paths {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := ParseMutant(path.Join(MutantDir, filepath.Base(file)), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// ParseMutant parses the text of a mutant file. Errors begin with the path and, if known,
// the line number.
func ParseMutant(file, text string) (*Mutant, error) {
	m := &Mutant{Name: strings.TrimSuffix(path.Base(file), ".mutant"), path: file}
	var what []string
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %w", file, i+1, fmt.Errorf(format, args...))
		}
		if changed, ok := strings.CutPrefix(line, "@@ "); ok {
			m.hunks = append(m.hunks, hunk{line: i + 1, file: strings.TrimSpace(changed)})
			continue
		}
		if len(m.hunks) > 0 {
			if err := m.hunks[len(m.hunks)-1].add(line); err != nil {
				return nil, fail("%w", err)
			}
			continue
		}
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			what = append(what, strings.TrimSpace(comment))
			continue
		}
		if err := m.header(line); err != nil {
			return nil, fail("%w", err)
		}
	}
	m.What = strings.Join(what, " ")
	return m, m.check()
}

func (m *Mutant) header(line string) error {
	key, value, _ := strings.Cut(line, ":")
	words := strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' })
	switch key {
	case "":
	case "rules":
		m.Rules = append(m.Rules, words...)
	case "test":
		if len(words) < 2 {
			return fmt.Errorf("%q: expected a package and at least one test, such as core/watcher TestW7_Ends", line)
		}
		for _, name := range words[1:] {
			m.Tests = append(m.Tests, Test{words[0], name})
		}
	case "sim":
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || n < 1 {
			return fmt.Errorf("%q: expected a number of seeds", line)
		}
		m.Seeds = n
	default:
		return fmt.Errorf("unexpected line %q: %s", line, mutantGrammar)
	}
	return nil
}

func (h *hunk) add(line string) error {
	if line == "" {
		return nil
	}
	text := line[1:]
	switch line[0] {
	case ' ':
		h.find, h.replace = append(h.find, text), append(h.replace, text)
	case '-':
		h.find = append(h.find, text)
	case '+':
		h.replace = append(h.replace, text)
	default:
		return fmt.Errorf("unexpected line %q in a hunk: %s", line, mutantGrammar)
	}
	return nil
}

func (m *Mutant) check() error {
	switch {
	case m.What == "":
		return fmt.Errorf("%s: no description: %s", m.path, mutantGrammar)
	case len(m.Rules) == 0:
		return fmt.Errorf("%s: names no rule of %s; add a line such as \"rules: W7\"", m.path, SemanticsPath)
	case len(m.hunks) == 0:
		return fmt.Errorf("%s: changes nothing: %s", m.path, mutantGrammar)
	}
	for _, h := range m.hunks {
		if len(h.find) == 0 {
			return fmt.Errorf("%s:%d: the hunk has no lines to replace; add them", m.path, h.line)
		}
	}
	return nil
}

// Apply returns the new content of every file that the mutant changes, by path relative to
// root. It writes no files.
func (m *Mutant) Apply(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, h := range m.hunks {
		text, ok := files[h.file]
		if !ok {
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(h.file)))
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", m.path, h.line, err)
			}
			text = string(content)
		}
		changed, err := h.apply(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", m.path, h.line, err)
		}
		files[h.file] = changed
	}
	return files, nil
}

// apply returns the text with the lines of the hunk replaced. It returns an error
// unless the lines occur exactly once. The comparison ignores leading and trailing whitespace,
// so that a change of indentation does not invalidate a mutant.
func (h *hunk) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	var found []int
	for at := 0; at+len(h.find) <= len(lines); at++ {
		if equalTrimmed(lines[at:at+len(h.find)], h.find) {
			found = append(found, at)
		}
	}
	if len(found) != 1 {
		advice := "update the hunk to what the file has now"
		if len(found) > 1 {
			advice = fmt.Sprintf("begin the hunk with more of the lines before it; they occur at lines %v", oneBased(found))
		}
		return "", fmt.Errorf("the lines to replace must occur once in %s, and occur %d times; %s:\n%s",
			h.file, len(found), advice, strings.Join(h.find, "\n"))
	}
	changed := append([]string{}, lines[:found[0]]...)
	changed = append(changed, h.replace...)
	changed = append(changed, lines[found[0]+len(h.find):]...)
	return strings.Join(changed, "\n"), nil
}

func equalTrimmed(a, b []string) bool {
	for i := range a {
		if strings.TrimSpace(a[i]) != strings.TrimSpace(b[i]) {
			return false
		}
	}
	return true
}

func oneBased(indices []int) []int {
	var lines []int
	for _, i := range indices {
		lines = append(lines, i+1)
	}
	return lines
}

// function returns the top-level test of a subtest, and any other test unchanged.
func (t Test) function() Test {
	name, _, _ := strings.Cut(t.Name, "/")
	return Test{t.Package, name}
}

// changes reports whether the mutant changes a file in the directory of a package.
func (m *Mutant) changes(pkg string) bool {
	return slices.ContainsFunc(m.hunks, func(h hunk) bool { return path.Dir(h.file) == pkg })
}
