package api

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCells(t *testing.T) {
	for i := range 100 {
		field, column := FieldCell(i), ColumnCell(i)
		assert.Equal(t, i < 32, AllCells.Has(field), "field %d", i)
		assert.Equal(t, i < 32, AllCells.Has(column), "column %d", i)
		assert.False(t, Cells(0).Has(field))
		assert.False(t, Cells(0).Has(column))
		without := AllCells.WithoutColumn(i)
		for j := range 100 {
			assert.False(t, field.Has(ColumnCell(j)), "field %d is no column", i)
			assert.Equal(t, j < 32, without.Has(FieldCell(j)))
			assert.Equal(t, j < 32 && j != i, without.Has(ColumnCell(j)))
			assert.Equal(t, j < 32 && j != i, AllCells.WithoutField(i).Has(FieldCell(j)))
			assert.False(t, AllCells.WithoutField(i).Has(ColumnCell(j)), "a column can have the text of field %d", i)
		}
	}
}
