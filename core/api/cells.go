package api

// Cells is a set of envelope fields and columns whose values are known to be
// equal in two versions of an object. It covers the first 32 fields and the first
// 32 columns. A cell outside the set may or may not have changed, so the empty set is
// always correct.
type Cells uint64

const (
	cellsOfAKind = 32
	allFields    = Cells(1<<cellsOfAKind - 1)
)

// AllCells contains every cell that a set can represent.
const AllCells = ^Cells(0)

// FieldCell returns the cell of the field with index i, or zero if i is 32 or more.
func FieldCell(i int) Cells { return 1 << i & allFields }

// ColumnCell returns the cell of the column with index i, or zero if i is 32 or more.
func ColumnCell(i int) Cells { return 1 << i << cellsOfAKind }

// ColumnCellsFrom returns the cells of the column with index i and of all columns
// after it.
func ColumnCellsFrom(i int) Cells { return AllCells << (cellsOfAKind + i) }

// Has reports whether the set contains the cell.
func (c Cells) Has(cell Cells) bool { return c&cell != 0 }

// WithoutField returns the set without field i, which may have changed. It also removes
// every column, because any column may show the value of the field.
func (c Cells) WithoutField(i int) Cells { return c & allFields &^ FieldCell(i) }

// WithoutColumn returns the set without column i, which may have changed.
func (c Cells) WithoutColumn(i int) Cells { return c &^ ColumnCell(i) }
