package wire

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

const protocolFile = "PROTOCOL.md"

// TestPROTOCOLListsEveryFieldOfEveryFrame compares the tables of PROTOCOL.md with
// the code: names, order and encodings of fields, types of frames, and the values of
// enumerations. With -update it rewrites the tables and keeps the last column, which
// is written by hand.
func TestPROTOCOLListsEveryFieldOfEveryFrame(t *testing.T) {
	text, err := os.ReadFile(protocolFile)
	if err != nil {
		t.Fatal(err)
	}
	code := parseCode(t, ".", "../api")
	want := code.sections(t)
	got := sectionsOf(string(text))
	for title := range want {
		if _, ok := got[title]; !ok {
			t.Errorf("%s has no section %q", protocolFile, title)
		}
	}
	current := string(text)
	for title, body := range got {
		rows, ok := want[title]
		if !ok {
			if strings.Contains(title, "`0x") || strings.Contains(body, "\n| Field |") || strings.Contains(body, "\n| Value |") {
				t.Errorf("%s: the code has nothing that section %q could be about", protocolFile, title)
			}
			continue
		}
		renewed := withTable(body, rows)
		if strings.Contains(renewed, "|  |\n") {
			t.Errorf("%s: section %q: a row has no description", protocolFile, title)
		}
		current = strings.Replace(current, body, renewed, 1)
	}
	if current == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s does not match the code. Run go test ./core/wire -update, and describe new rows", protocolFile)
	}
	if err := os.WriteFile(protocolFile, []byte(current), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPROTOCOLNamesTheVersionsOfTheCode(t *testing.T) {
	text, err := os.ReadFile(protocolFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		fmt.Sprintf("The WebSocket subprotocol is `%s`, and the version in Hello and Welcome is %d.", Subprotocol, Version),
		fmt.Sprintf("Their format has its own version, %d.", ChunkFormat),
		fmt.Sprintf("| `format` | uvarint | %d; a chunk of another format is refused |", ChunkFormat),
		fmt.Sprintf("at most %d MiB", MaxMessage>>20),
	} {
		if !strings.Contains(string(text), statement) {
			t.Errorf("%s does not say: %s", protocolFile, statement)
		}
	}
}

// sectionsOf returns each section with a level 3 heading, by title. The text includes the
// heading.
func sectionsOf(text string) map[string]string {
	sections := map[string]string{}
	starts := regexp.MustCompile(`(?m)^#{1,3} (.*)$`).FindAllStringSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if strings.HasPrefix(text[at[0]:], "### ") {
			sections[text[at[2]:at[3]]] = text[at[0]:end]
		}
	}
	return sections
}

// withTable returns a section with its table replaced, or with a table added. Existing
// rows keep their descriptions.
func withTable(section string, rows []tableRow) string {
	var text, table []string
	described := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(section), "\n") {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "|") && len(cells) >= 5 {
			described[strings.TrimSpace(cells[1])] = strings.TrimSpace(strings.Join(cells[3:len(cells)-1], "|"))
		} else {
			text = append(text, line)
		}
	}
	if len(rows) > 0 {
		table = append(table, "\n", rows[0].head, "|---|---|---|")
		for _, r := range rows {
			table = append(table, "| "+r.name+" | "+r.encoding+" | "+described[r.name]+" |")
		}
	}
	return strings.TrimSpace(strings.Join(text, "\n")) + strings.Join(table, "\n") + "\n\n"
}

// tableRow is a field with its encoding, or a value of an enumeration with its name.
type tableRow struct{ head, name, encoding string }

func fieldRow(name, encoding string) tableRow {
	_, isStructure := structures[encoding]
	if _, isEnum := enums[encoding]; isEnum || isStructure || encoding == "envelope" || encoding == "patch" {
		encoding = "[" + encoding + "](#" + strings.ReplaceAll(strings.ToLower(encoding), " ", "-") + ")"
	}
	return tableRow{"| Field | Encoding | Meaning |", "`" + name + "`", encoding}
}

// code contains the methods and constants in the source of some packages.
type code struct {
	methods map[string]*ast.FuncDecl // by receiver and name: "Hello.Parse"
	consts  map[string][]string      // names, by the type of an enumeration
}

func parseCode(t *testing.T, dirs ...string) code {
	c := code{map[string]*ast.FuncDecl{}, map[string][]string{}}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				c.add(d)
			}
		}
	}
	return c
}

func (c code) add(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			c.methods[typeName(d.Recv.List[0].Type)+"."+d.Name.Name] = d
		}
	case *ast.GenDecl:
		if d.Tok != token.CONST {
			return
		}
		first, ok := d.Specs[0].(*ast.ValueSpec)
		if !ok || first.Type == nil || len(first.Values) == 0 {
			return
		}
		for _, s := range d.Specs {
			name := typeName(first.Type)
			c.consts[name] = append(c.consts[name], s.(*ast.ValueSpec).Names[0].Name)
		}
	}
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// structures maps each structure that several frames contain to the method that reads the
// structure.
var structures = map[string]string{
	"item": "reader.item", "labels": "reader.labels", "status": "reader.status", "schema": "reader.schema",
	"columns": "reader.columns", "content": "reader.content", "change": "reader.change",
	"watch event": "reader.watchEvent", "chunk body": "ChunkBody.parse",
}

// enums maps each enumeration to the number of its first value.
var enums = map[string]int{
	"EventType": 1, "Codec": 0, "ValueKind": 0, "State": 0, "Match": 0, "Tristate": 0, "Policy": 0, "Object": 0, "WatchEnd": 0, "Flags": 1,
}

// sections returns the rows that the document must contain, by title of the section.
func (c code) sections(t *testing.T) map[string][]tableRow {
	all := map[string][]tableRow{}
	for _, row := range everyFrame {
		name := reflect.TypeOf(row.New()).Elem().Name()
		all[fmt.Sprintf("%s `0x%02x`", name, byte(row.Type))] = c.rows(t, name+".Parse")
	}
	for title, method := range structures {
		all[title] = c.rows(t, method)
	}
	for name, first := range enums {
		for i, value := range c.consts[name] {
			n := first + i
			if name == "Flags" {
				n = 1 << i
			}
			all[name] = append(all[name], tableRow{"| Value | Name | Meaning |", fmt.Sprint(n), "`" + value + "`"})
		}
		if len(all[name]) == 0 {
			t.Errorf("the code has no values of %s", name)
		}
	}
	return all
}

// encodings maps each method of reader to the encoding that it reads.
var encodings = map[string]string{
	"byte": "byte", "uvarint": "uvarint", "uint64": "fixed64", "float": "float64", "varint": "varint", "uint32": "uint32", "int": "uint31",
	"bool": "bool", "bytes": "bytes", "string": "string", "count": "count", "rv": "uvarint", "before": "behind",
	"item": "item", "labels": "labels", "status": "status", "schema": "schema", "columns": "columns", "content": "content",
	"change": "change", "watchEvent": "watch event", "envelope": "envelope", "patch": "patch",
}

// rows returns the fields that a method reads, in order.
func (c code) rows(t *testing.T, method string) []tableRow {
	fn := c.methods[method]
	if fn == nil {
		t.Fatalf("the code has no method %s", method)
	}
	w := walk{t: t, code: c, aliases: map[string]string{fn.Recv.List[0].Names[0].Name: ""}}
	for _, p := range fn.Type.Params.List {
		w.aliases[p.Names[0].Name] = ""
	}
	ast.Inspect(fn.Body, w.visit)
	return w.rows
}

// walk visits the body of a method and collects the calls that read data.
type walk struct {
	t       *testing.T
	code    code
	stack   []ast.Node
	aliases map[string]string // the field that each local name stands for
	rows    []tableRow
}

func (w *walk) visit(n ast.Node) bool {
	if n == nil {
		w.stack = w.stack[:len(w.stack)-1]
		return false
	}
	if _, closure := n.(*ast.FuncLit); closure {
		return false
	}
	if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
		w.define(a)
	}
	if call, ok := n.(*ast.CallExpr); ok {
		w.call(call)
	}
	w.stack = append(w.stack, n)
	return true
}

// define records which field a new local name stands for.
func (w *walk) define(a *ast.AssignStmt) {
	name, ok := a.Lhs[0].(*ast.Ident)
	if !ok {
		return
	}
	if address, ok := a.Rhs[0].(*ast.UnaryExpr); ok {
		w.aliases[name.Name] = w.path(address.X)
	}
	if _, ok := a.Rhs[0].(*ast.CallExpr); ok {
		if made, isMade := a.Rhs[0].(*ast.CallExpr).Fun.(*ast.Ident); isMade && made.Name == "make" {
			w.aliases[name.Name] = ""
		}
	}
}

func (w *walk) call(call *ast.CallExpr) {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		switch fun.Name {
		case "text":
			w.add(call, "string")
		case "parseMark":
			w.rows = append(w.rows, fieldRow("Mark", "uvarint"))
		}
	case *ast.SelectorExpr:
		if fun.Sel.Name == "read" {
			w.rows = append(w.rows, w.code.rows(w.t, "Subscribe.read")...)
		} else if fun.Sel.Name == "parse" {
			w.rows = append(w.rows, fieldRow(w.path(fun.X), "chunk body"))
		} else if x, ok := fun.X.(*ast.Ident); !ok || x.Name != "r" {
			return
		} else if fun.Sel.Name == "enum" {
			w.add(call, "")
		} else if encoding := encodings[fun.Sel.Name]; encoding != "" {
			w.add(call, encoding)
		} else if n := fun.Sel.Name; n != "done" && n != "fail" && n != "left" {
			w.t.Fatalf("the reader's method %s is missing in encodings", n)
		}
	}
}

// add records that a call reads a value. The enclosing statement determines the field.
func (w *walk) add(call *ast.CallExpr, encoding string) {
	key, index := "", 0
	var inner ast.Node = call
	for i := len(w.stack) - 1; i >= 0; i-- {
		switch n := w.stack[i].(type) {
		case *ast.CallExpr:
			if name := typeName(n.Fun); name == "string" {
				encoding = "string"
			} else if _, isEnum := enums[name]; isEnum {
				encoding = name
			}
		case *ast.KeyValueExpr:
			key = "." + typeName(n.Key) + key
		case *ast.AssignStmt:
			for j, right := range n.Rhs {
				if right == inner {
					index = j
				}
			}
			w.note(w.path(n.Lhs[index])+key, encoding)
			return
		case *ast.ExprStmt:
			w.note(w.argument(call), encoding)
			return
		case *ast.IfStmt:
			w.note("present", encoding)
			return
		case *ast.ReturnStmt:
			w.note("value", encoding)
			return
		}
		inner = w.stack[i]
	}
	w.t.Fatal("a call that reads is in no statement")
}

func (w *walk) note(name, encoding string) {
	name = strings.TrimPrefix(name, ".")
	switch {
	case encoding == "count" && (name == "" || name == "n"):
		name = "length"
	case name == "":
		name = "[]"
	}
	w.rows = append(w.rows, fieldRow(name, encoding))
}

func (w *walk) argument(call *ast.CallExpr) string {
	if len(call.Args) == 0 {
		return "checksum"
	}
	last := call.Args[len(call.Args)-1]
	if address, ok := last.(*ast.UnaryExpr); ok {
		last = address.X
	}
	return w.path(last)
}

// path returns the path of the field that an expression names, without the name of the
// receiver.
func (w *walk) path(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return w.path(e.X)
	case *ast.UnaryExpr:
		return w.path(e.X)
	case *ast.ParenExpr:
		return w.path(e.X)
	case *ast.IndexExpr:
		return w.path(e.X) + "[]"
	case *ast.SelectorExpr:
		return strings.TrimPrefix(w.path(e.X)+"."+e.Sel.Name, ".")
	case *ast.Ident:
		if alias, ok := w.aliases[e.Name]; ok {
			return alias
		}
		return e.Name
	}
	return ""
}
