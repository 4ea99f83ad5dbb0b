package objectjson

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// Printers finds a printer by name. One printer can compute several cells; "cell" is the
// number of the cell that the name denotes. The function returns nil for an unknown name.
type Printers func(name string) (p *Printer, cell int)

// Printer computes cells from values of an object. A Scanner calls a printer once per
// object, for all columns that share the printer.
type Printer struct {
	// Paths are the paths of the values, in the syntax of columns. If Paths is empty, the
	// printer uses the paths in the Path of its column, separated by spaces.
	Paths []string
	// Print computes the cells from the values. The values are valid JSON, except in
	// objects that are scanned with [Options.Unchecked]. Print is called for these
	// objects, too.
	Print func(*Values, *Cells)
	// CountsOnly means that all cells are counts of members. The printer then also
	// receives the data of Secrets, which other columns cannot show.
	CountsOnly bool
}

// maxPrinted is the maximum number of cells of one printer.
const maxPrinted = 7

// Values contains the values at the paths of a printer.
type Values struct {
	documents []Document
	ends      []int // end in documents, by path
}

// All returns the values at the i-th path, in document order. It returns more than one
// value only if the path contains [*].
//
//go:noinline
func (v *Values) All(i int) []Document {
	start := 0
	if i > 0 {
		start = v.ends[i-1]
	}
	return v.documents[start:v.ends[i]]
}

// Get returns the first value at the i-th path, or nil.
//
//go:noinline
func (v *Values) Get(i int) Document {
	if all := v.All(i); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Len returns the number of paths.
func (v *Values) Len() int { return len(v.ends) }

// Cells receives the cells of a printer. Cells that are not set are Null.
type Cells struct {
	// Text collects the text of the next cell that SetText or SetTimed sets.
	Text  []byte
	cells []api.Value // the Int of a String contains the start and, in the lower 32 bits, the end of its text
	start int         // start of the next text
}

// Set sets a cell to a value that is not a String.
func (c *Cells) Set(cell int, v api.Value) { c.cells[cell] = v }

// SetDate sets a cell to a Date and returns true, unless the value is not a timestamp.
//
//go:noinline
func (c *Cells) SetDate(cell int, at Document) bool {
	millis, ok := at.Date()
	if ok {
		c.SetNumber(cell, api.Date, millis)
	}
	return ok
}

// SetInt sets a cell to an Integer.
func (c *Cells) SetInt(cell int, n int) { c.SetNumber(cell, api.Integer, int64(n)) }

// SetNumber sets a cell to a value that contains only an Int.
//
//go:noinline
func (c *Cells) SetNumber(cell int, kind api.ValueKind, n int64) {
	v := &c.cells[cell]
	v.Kind, v.Int = kind, n
}

// SetText sets a cell to the text that was added to Text since the last call. If that text
// is empty, the cell stays Null.
//
//go:noinline
func (c *Cells) SetText(cell int) {
	c.SetTimed(cell, nil)
}

// SetTimed is like SetText, but also sets the Time of the cell if "at" is a timestamp. The
// cell is then a String even if its text is empty.
//
//go:noinline
func (c *Cells) SetTimed(cell int, at Document) {
	if millis, ok := at.Date(); ok || len(c.Text) > c.start {
		c.SetNumber(cell, api.String, int64(c.start)<<32|int64(len(c.Text)))
		c.cells[cell].Time = millis
	}
	c.start = len(c.Text)
}

// Empty reports whether the current text is empty.
func (c *Cells) Empty() bool { return len(c.Text) == c.start }

// Discard removes the current text.
func (c *Cells) Discard() { c.Text = c.Text[:c.start] }

// Add appends to the current text.
//
//go:noinline
func (c *Cells) Add(text string) { c.Text = append(c.Text, text...) }

// AddInt appends a decimal number to the current text.
//
//go:noinline
func (c *Cells) AddInt(n int) { c.Text = strconv.AppendInt(c.Text, int64(n), 10) }

// AddValue appends the text of a string, number or bool to the current text.
//
//go:noinline
func (c *Cells) AddValue(d Document) { c.Text = d.AppendText(c.Text) }

// print is a printer that columns of a Scanner use, with the values and cells of the
// current object.
type print struct {
	printer *Printer
	path    string // path of the column, if the printer has no paths
	slots   []int
	values  Values
	cells   Cells
}

// addPrint compiles a column with a printer. Columns of one printer share its
// values.
func (c *columnCompiler) addPrint(declared *api.Column, compiled *column) error {
	if c.find != nil {
		compiled.print, compiled.cell = c.shared(declared)
	}
	if compiled.print == nil {
		return api.BadRequest("column " + lite.Quote(declared.Name) + ": there is no printer " + lite.Quote(declared.Printer))
	}
	if len(compiled.print.slots) > 0 {
		return nil
	}
	paths := compiled.print.printer.Paths
	if len(paths) == 0 {
		paths = splitPaths(declared.Path)
	}
	for _, path := range paths {
		steps, err := parseColumn(declared.Name, path)
		if err != nil {
			return err
		}
		compiled.print.slots = append(compiled.print.slots, c.route(steps, compiled.print.printer.CountsOnly))
	}
	c.prints = append(c.prints, compiled.print)
	return nil
}

// shared returns the print that earlier columns of the same printer use, or a new one. It
// returns nil if the printer is unknown.
func (c *columnCompiler) shared(declared *api.Column) (*print, int) {
	printer, cell := c.find(declared.Printer)
	if printer == nil {
		return nil, 0
	}
	for _, p := range c.prints {
		if p.printer == printer && (len(printer.Paths) > 0 || p.path == declared.Path) {
			return p, cell
		}
	}
	return &print{printer: printer, path: declared.Path, cells: Cells{cells: make([]api.Value, maxPrinted)}}, cell
}

// splitPaths returns the paths in the Path of a printer's column. It splits at spaces,
// except in quotes.
func splitPaths(text string) []string {
	var paths []string
	var quote byte
	start := 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ' ' && quote == 0:
			if i > start {
				paths = append(paths, text[start:i])
			}
			start = i + 1
		case text[i] == '\\' && i+1 < len(text):
			i++
		case quote != 0:
			if text[i] == quote {
				quote = 0
			}
		case text[i] == '\'' || text[i] == '"':
			quote = text[i]
		}
	}
	return paths
}

// run computes the cells of the current object.
func (p *print) run(s *Scanner) {
	p.values.documents, p.values.ends = p.values.documents[:0], p.values.ends[:0]
	for _, slot := range p.slots {
		for c := s.results(slot); c >= 0; c = s.captures[c].link {
			p.values.documents = append(p.values.documents, Document(s.json(c)))
		}
		p.values.ends = append(p.values.ends, len(p.values.documents))
	}
	p.cells.Text, p.cells.start = p.cells.Text[:0], 0
	clear(p.cells.cells)
	p.printer.Print(&p.values, &p.cells)
}

// printed returns a cell of a printer. It appends the text of a String to s.texts.
func (s *Scanner) printed(c *column) api.Value {
	v := c.print.cells.cells[c.cell]
	if v.Kind == api.String {
		s.texts.bytes = append(s.texts.bytes, c.print.cells.Text[v.Int>>32:uint32(v.Int)]...)
		s.texts.end()
		v.Int = 0
	}
	return v
}
