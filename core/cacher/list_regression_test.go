package cacher_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
)

// The tests in this file reproduce failures that host/conformance/cacher has
// found.

// A blank selector selects everything and does not hide the number of remaining
// items (rules C42, LS1, FS1).
func TestC42_BlankSelectorMatchesEverything(t *testing.T) {
	for _, opt := range []cacher.ListOptions{
		{Limit: 2, Selection: objects.Select(" ", "")}, {Limit: 2, Selection: objects.Select("", ",")}, {Limit: 2, Selection: objects.Select("", "=")},
	} {
		w := lists(t)
		p := w.page(opt)
		assert.Equal(t, []string{"ns/a@101", "ns/b@104"}, p.items)
		assert.EqualValues(t, 1, p.remaining)
		opt.Continue = p.next
		assert.Equal(t, page{items: []string{"ns/c@102"}, rv: 105}, w.page(opt))
		w.assertNoLeak()
	}
}
