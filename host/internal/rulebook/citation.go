package rulebook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const idPattern = `(?:LS|FS|[WHCEKRXPGBT])[1-9][0-9]?`

var (
	anyID    = regexp.MustCompile(`\b` + idPattern + `\b`)
	leadIDs  = regexp.MustCompile(`^` + idPattern + `( ` + idPattern + `)* `)
	ruleList = regexp.MustCompile(`\brules? (` + idPattern + `(?:(?:, | and | to )` + idPattern + `)*)`)
	nameID   = regexp.MustCompile(`^_?(` + idPattern + `)(?:[_A-Z]|$)`)
)

// Citation is a reference to a rule in a Go file, a scenario or a mutant.
type Citation struct {
	Rule  string
	Where string // file:line
}

// GoTests contains the tests of a source tree, and the rules that tests and comments
// cite.
type GoTests struct {
	// Named maps the ID of a rule to the tests and subtests whose names contain that ID.
	Named map[string][]Test
	// Cited maps each test to the rules that the test cites in its name and its doc
	// comment.
	Cited map[Test][]string
	// Citations contains all citations in Named, in Cited, and in comments with text such
	// as "rule W7".
	Citations []Citation
}

// LoadGoTests parses the Go files under root.
func LoadGoTests(root string) (*GoTests, error) {
	tests := &GoTests{Named: map[string][]Test{}, Cited: map[Test][]string{}}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != root):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return tests.addFile(file, filepath.ToSlash(relative))
	})
	return tests, err
}

func (t *GoTests) addFile(file, relative string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, relative, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	where := func(pos token.Pos) string {
		p := files.Position(pos)
		return fmt.Sprintf("%s:%d", p.Filename, p.Line)
	}
	for _, group := range syntax.Comments {
		for _, m := range ruleList.FindAllStringSubmatch(group.Text(), -1) {
			t.cite(where(group.Pos()), anyID.FindAllString(m[1], -1))
		}
	}
	pkg := path.Dir(relative)
	isTest := strings.HasSuffix(relative, "_test.go")
	for _, d := range syntax.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && isTest && f.Recv == nil {
			t.addFunction(pkg, f, where)
		}
	}
	// Packages whose names end in "test" contain test suites for several packages. Their
	// file names do not end in _test.go.
	if isTest || strings.HasSuffix(pkg, "test") {
		t.addSubtests(pkg, syntax, where)
	}
	return nil
}

func (t *GoTests) addFunction(pkg string, f *ast.FuncDecl, where func(token.Pos) string) {
	rest, ok := strings.CutPrefix(f.Name.Name, "Test")
	if !ok {
		return
	}
	test := Test{pkg, f.Name.Name}
	ids := namedAfter(rest)
	for _, id := range ids {
		t.Named[id] = append(t.Named[id], test)
	}
	ids = append(ids, anyID.FindAllString(f.Doc.Text(), -1)...)
	t.Cited[test] = unique(ids)
	t.cite(where(f.Pos()), ids)
}

// namedAfter returns the rule IDs at the start of rest, which is the name of a test without
// "Test", such as "C39_C40_FirstPage" or "R9InternalErrors".
func namedAfter(rest string) (ids []string) {
	for {
		m := nameID.FindStringSubmatch(rest)
		if m == nil {
			return ids
		}
		ids = append(ids, m[1])
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "_"), m[1])
	}
}

// addSubtests records the rule IDs at the start of string literals, such as the names in a
// table of subtests.
func (t *GoTests) addSubtests(pkg string, syntax *ast.File, where func(token.Pos) string) {
	ast.Inspect(syntax, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		name, err := strconv.Unquote(literal.Value)
		if err != nil {
			return true
		}
		ids := anyID.FindAllString(leadIDs.FindString(name), -1)
		for _, id := range ids {
			t.Named[id] = append(t.Named[id], Test{pkg, name})
		}
		t.cite(where(literal.Pos()), ids)
		return true
	})
}

func (t *GoTests) cite(where string, ids []string) {
	for _, id := range ids {
		t.Citations = append(t.Citations, Citation{id, where})
	}
}
