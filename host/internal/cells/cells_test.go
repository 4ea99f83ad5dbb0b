package cells_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/internal/cells"
)

func TestText(t *testing.T) {
	const now = 1_700_000_000_000
	column := &api.Column{Default: "<none>"}
	for _, c := range []struct {
		value api.Value
		want  string
	}{
		{api.Value{}, "<none>"},
		{api.Value{Kind: api.String}, "<none>"},
		{api.Value{Kind: api.String, Text: "x"}, "x"},
		{api.Value{Kind: api.Bool, Int: 1}, "true"},
		{api.Value{Kind: api.Integer, Int: -3}, "-3"},
		{api.Value{Kind: api.Integer, Int: 3, Time: now - 5*60_000}, "3 (5m ago)"},
		{api.Value{Kind: api.Integer, Int: 3, Time: now + 5*60_000}, "3 (<invalid> ago)"},
		{api.Value{Kind: api.String, Text: "Started", Time: now - 5*60_000}, "Started (5m ago)"},
		{api.Value{Kind: api.String, Text: "Started", Time: now + 5*60_000}, "Started (<invalid> ago)"}, // as kubectl prints it
		{api.Value{Kind: api.String, Time: now - 5*60_000}, "5m ago"},
		{api.Value{Kind: api.String, Time: now}, "0s ago"},
		{api.Value{Kind: api.String, Time: now + 1}, "in 0s"},
		{api.Value{Kind: api.String, Time: now + 5*60_000}, "in 5m"},
		{api.Value{Kind: api.Date, Int: now - 90_000}, "90s"},
		{api.Value{Kind: api.Duration, Int: 2*3_600_000 + 60_000}, "121m"},
		{api.Value{Kind: api.Number, Float: 0.5}, "0.5"},
		{api.Value{Kind: api.Number, Float: math.NaN()}, "<none>"},
	} {
		assert.Equal(t, c.want, cells.Text(column, c.value, now), c.value)
	}
}
