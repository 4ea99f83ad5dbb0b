package api

// Cells is a set of the fields and columns of an envelope that are known to be
// the same in two versions of an object. Of those beyond the 32nd of either kind
// nothing is known. The zero set says nothing.
type Cells uint64

const (
	cellsOfAKind = 32
	allFields    = Cells(1<<cellsOfAKind - 1)
)

// AllCells has every cell that a set can have.
const AllCells = ^Cells(0)

// FieldCell is the i-th field, if a set can have it.
func FieldCell(i int) Cells { return 1 << i & allFields }

// ColumnCell is the i-th column, if a set can have it.
func ColumnCell(i int) Cells { return 1 << i << cellsOfAKind }

// Has reports whether a set has a cell.
func (c Cells) Has(cell Cells) bool { return c&cell != 0 }

// WithoutField is the set when a field may have changed, and so may every column,
// any of which can be one that has the text of the field.
func (c Cells) WithoutField(i int) Cells { return c & allFields &^ FieldCell(i) }

// WithoutColumn is the set when a column may have changed.
func (c Cells) WithoutColumn(i int) Cells { return c &^ ColumnCell(i) }
