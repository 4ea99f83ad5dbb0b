package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// A reader may choose the columns of a subscription. Their cells are computed from the
// body of each object when the object is sent. Other readers never receive these cells,
// because the subscription shares no blocks, patches or encoded events.

// Decoding costCell bytes of a body costs one evaluation of the reader's allowance. Every
// costColumns columns add this cost again.
const (
	costCell    = 64
	costColumns = 8
)

// choose sets the columns of a request to those of the last ChooseColumns frame, if both
// frames have the same subscription number.
func (m *Message) choose(r *Request) {
	if c := m.chosen; c != nil && r != nil && c.Subscription == r.Frame.Subscription {
		r.Columns = c.Columns
	}
}

// checkColumns returns an error if the columns exceed a limit.
func (c *Config) checkColumns(columns []api.Column) *api.Status {
	if len(columns) > c.MaxColumns {
		return tooManyColumns()
	}
	for i := range columns {
		if column := &columns[i]; len(column.Name)+len(column.Path)+len(column.Printer)+len(column.Default) > c.MaxColumnBytes {
			return api.LimitReached(api.CodeTooLarge, LimitColumnBytes, "a column of the subscription is too long; shorten its path")
		}
	}
	return nil
}

func tooManyColumns() *api.Status {
	return api.LimitReached(api.CodeTooLarge, LimitColumns, "the subscription has too many columns; choose fewer")
}

// computed contains the columns that the reader of one subscription chose.
type computed struct {
	columns []api.Column // chosen by the reader
	schema  api.Schema   // schema of the collection with the chosen columns
	scanner *objectjson.Scanner
	fields  []string    // scratch space for the fields of an object
	failure *api.Status // why an object has no cells; it ends the subscription
}

// newComputed returns the state that is needed to compute the chosen columns. It returns
// nil if the reader receives the columns of the collection, because the reader chose none
// or Config.Decode is nil.
func (c *Config) newComputed(columns []api.Column, schema *api.Schema) (*computed, *api.Status) {
	if len(columns) == 0 || c.Decode == nil {
		return nil, nil
	}
	if status := c.checkColumns(columns); status != nil {
		return nil, status
	}
	scanned := api.Schema{Resource: schema.Resource, Kind: schema.Kind, Columns: columns}
	scanned = *scanned.WithTimes()
	scanner, err := objectjson.NewScanner(&scanned)
	if err != nil {
		return nil, api.AsStatus(err)
	}
	of := &computed{columns: columns, schema: *schema, scanner: scanner, fields: make([]string, len(schema.Fields))}
	of.schema.Columns = scanned.Columns
	return of, nil
}

// schema returns the schema of the objects that the reader receives.
func (s *subscription) schema() *api.Schema {
	if s.computed != nil {
		return &s.computed.schema
	}
	return s.cacher.Schema()
}

// broken returns the reason why the columns of an object could not be computed, or nil.
func (s *subscription) broken() *api.Status {
	if s.computed == nil {
		return nil
	}
	return s.computed.failure
}

// computeEnvelope returns the envelope of a version with the columns that the reader
// chose. The result aliases the scratch space of the collection.
func (s *subscription) computeEnvelope(ref store.Ref) wire.Envelope {
	c, arena, f := s.computed, s.cacher.Arena(), s.frame
	f.Base = f.Base[:0]
	base, packed := arena.BaseBody(ref, &f.Base), arena.Body(ref)
	plain, err := s.session.cfg.Decode(packed, base, s.cacher.Bodies().Dictionary(ref))
	s.filter.Charge(1 + len(plain)/costCell*(1+len(c.columns)/costColumns))
	var cells []api.Value
	if err == nil {
		cells, err = c.scanner.Cells(plain)
	}
	stored := arena.Envelope(ref)
	if err != nil {
		c.failure = api.Internal("the columns of " + string(stored.Key()) + " cannot be computed: " + err.Error())
	}
	for i := range c.fields {
		c.fields[i] = stored.Field(i)
	}
	if s.omitsBodies() {
		packed = api.Body{}
	}
	o := api.Object{Key: stored.Key(), UID: stored.UID(), Fields: c.fields, Columns: cells, Body: packed}
	at := len(f.Bytes)
	f.Bytes = wire.AppendEnvelope(f.Bytes, &o)
	return f.Bytes[at:]
}
