package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/internal/cells"
	"github.com/watchglass/watchglass/host/internal/terminal"
)

// These are the output formats of get and watch.
const (
	formatTable = ""
	formatWide  = "wide"
	formatName  = "name"
	formatJSON  = "json"
)

// object contains the methods of client.Object that the printer uses.
type object interface {
	Key() api.Key
	Column(i int) api.Value
	JSON() []byte
}

// printer writes objects as kubectl does. It is not safe for concurrent use.
type printer struct {
	out    io.Writer
	format string
	schema api.Schema
	now    func() time.Time

	custom     bool // print only the chosen columns
	namespaces bool // print a column with the namespace
	noHeaders  bool
	events     bool // print a column with the type of the event

	widths []int // widths of the columns; they grow to fit later rows and never shrink
}

// columnGap is the number of spaces between the columns of a table.
const columnGap = 3

// list writes objects as a table, as names, or as one v1 List.
func (p *printer) list(objects []object, rv api.ResourceVersion) error {
	switch p.format {
	case formatJSON:
		return p.jsonList(objects, rv)
	case formatName:
		for _, o := range objects {
			if err := p.name(o); err != nil {
				return err
			}
		}
		return nil
	}
	var rows [][]string
	if !p.noHeaders {
		rows = append(rows, p.header())
	}
	for _, o := range objects {
		rows = append(rows, p.row(api.Added, o))
	}
	return p.table(rows)
}

// event writes one change as a row of the table, a name, or a line with a watch event.
func (p *printer) event(t api.EventType, o object) error {
	switch p.format {
	case formatJSON:
		return p.frame(t, o.JSON())
	case formatName:
		return p.name(o)
	}
	return p.table([][]string{p.row(t, o)})
}

func (p *printer) header() []string {
	var row []string
	if p.events {
		row = append(row, "EVENT")
	}
	if p.namespaces {
		row = append(row, "NAMESPACE")
	}
	if p.addsName() {
		row = append(row, "NAME")
	}
	for _, c := range p.schema.Columns {
		if p.shown(c) {
			row = append(row, strings.ToUpper(c.Name))
		}
	}
	return row
}

func (p *printer) row(t api.EventType, o object) []string {
	var row []string
	if p.events {
		row = append(row, t.String())
	}
	if p.namespaces {
		row = append(row, terminal.Text(o.Key().Namespace()))
	}
	if p.addsName() {
		row = append(row, terminal.Text(o.Key().Name()))
	}
	now := p.now().UnixMilli()
	for i := range p.schema.Columns {
		if c := &p.schema.Columns[i]; p.shown(*c) {
			row = append(row, terminal.Text(cells.Text(c, o.Column(i), now)))
		}
	}
	return row
}

// addsName reports whether the printer adds a name column because the resource has none.
func (p *printer) addsName() bool { return !p.custom && catalog.NameColumn(&p.schema) < 0 }

func (p *printer) shown(c api.Column) bool {
	return c.Priority == 0 || p.format == formatWide && !c.Hidden()
}

func (p *printer) table(rows [][]string) error {
	p.measure(rows)
	var line bytes.Buffer
	for _, row := range rows {
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", p.widths[i]-utf8.RuneCountInString(cell)+columnGap))
			}
		}
		line.WriteByte('\n')
	}
	_, err := p.out.Write(line.Bytes())
	return err
}

func (p *printer) measure(rows [][]string) {
	if p.events && p.widths == nil {
		p.widths = []int{len("MODIFIED")}
	}
	for _, row := range rows {
		for i, cell := range row {
			if i == len(p.widths) {
				p.widths = append(p.widths, 0)
			}
			p.widths[i] = max(p.widths[i], utf8.RuneCountInString(cell))
		}
	}
}

// name writes the name of an object, such as "pod/web-0" or "deployment.apps/web".
func (p *printer) name(o object) error {
	kind := strings.ToLower(p.schema.Kind)
	if group := p.schema.Resource.Group; group != "" {
		kind += "." + group
	}
	_, err := fmt.Fprintf(p.out, "%s/%s\n", kind, terminal.Text(o.Key().Name()))
	return err
}

const indent = "    "

// jsonList writes objects one at a time. Marshaling the whole list at once would need
// three times the memory.
func (p *printer) jsonList(objects []object, rv api.ResourceVersion) error {
	var b bytes.Buffer
	b.WriteString("{\n" + indent + `"apiVersion": "v1",` + "\n" + indent + `"items": [`)
	for i, o := range objects {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + indent + indent)
		if err := json.Indent(&b, o.JSON(), indent+indent, indent); err != nil {
			return fmt.Errorf("%s: %w", o.Key(), err)
		}
		if _, err := p.out.Write(b.Bytes()); err != nil {
			return err
		}
		b.Reset()
	}
	if len(objects) > 0 {
		b.WriteString("\n" + indent)
	}
	fmt.Fprintf(&b, "],\n%[1]s\"kind\": \"List\",\n%[1]s\"metadata\": {\n%[1]s%[1]s\"resourceVersion\": %[2]q\n%[1]s}\n}\n", indent, rv)
	_, err := p.out.Write(b.Bytes())
	return err
}

// single writes one object, without a list around it.
func (p *printer) single(o object) error {
	var b bytes.Buffer
	if err := json.Indent(&b, o.JSON(), "", indent); err != nil {
		return fmt.Errorf("%s: %w", o.Key(), err)
	}
	b.WriteByte('\n')
	_, err := p.out.Write(b.Bytes())
	return err
}

// frame writes an event as one line of JSON, in the format of a Kubernetes watch.
func (p *printer) frame(t api.EventType, object []byte) error {
	var b bytes.Buffer
	b.WriteString(`{"type":"` + t.String() + `","object":`)
	if err := json.Compact(&b, object); err != nil {
		return err
	}
	b.WriteString("}\n")
	_, err := p.out.Write(b.Bytes())
	return err
}
