package api

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWithTimesAddsMissingColumnsHidden(t *testing.T) {
	age := Column{Name: "Age", Kind: Date, Path: CreationPath}
	bare := &Schema{Columns: make([]Column, 0, 8)}
	with := bare.WithTimes()
	assert.Equal(t, []Column{
		{Name: "creationTimestamp", Kind: Date, Path: CreationPath, Priority: Hidden},
		{Name: "deletionTimestamp", Kind: Date, Path: DeletionPath, Priority: Hidden},
	}, with.Columns)
	assert.Empty(t, bare.Columns[:cap(bare.Columns)][0].Name, "the original's memory is unchanged")
	assert.Equal(t, with, with.WithTimes(), "a second call adds none")

	aged := (&Schema{Columns: []Column{age}}).WithTimes()
	assert.Len(t, aged.Columns, 2)
	assert.False(t, aged.Columns[0].Hidden(), "a declared column stays visible")
	assert.Equal(t, 1, aged.TimeColumn(DeletionPath))

	text := (&Schema{Columns: []Column{{Name: "Age", Kind: String, Path: CreationPath}}}).WithTimes()
	assert.Equal(t, 1, text.TimeColumn(CreationPath), "a column of texts has no times")
}
