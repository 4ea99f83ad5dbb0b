package wire_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// A CellIndex reads the same cells as the envelope, for cells of every kind and length.
func TestCellIndexAgreesWithTheEnvelope(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	texts := []string{"", "a", "pod", "ns", strings.Repeat("x", 125), strings.Repeat("y", 126), strings.Repeat("z", 128), strings.Repeat("long", 5000)}
	var x wire.CellIndex
	for range 2000 {
		o := api.Object{Key: "ns/pod", UID: "uid"}
		for range r.IntN(5) {
			o.Fields = append(o.Fields, texts[r.IntN(len(texts))])
		}
		for range r.IntN(7) {
			o.Columns = append(o.Columns, []api.Value{
				{}, {Kind: api.Bool, Int: 1}, {Kind: api.Integer, Int: r.Int64()}, {Kind: api.Integer, Int: 3, Time: 1 << 40},
				{Kind: api.Number, Float: 0.5}, {Kind: api.String, Text: texts[r.IntN(len(texts))]}, {Kind: api.Date, Int: -1},
				{Kind: api.Integer, Int: r.Int64N(200) - 100}, {Kind: api.Duration, Int: 1 << 40},
				{Kind: api.String, Text: texts[r.IntN(len(texts))], Time: 1<<40 - r.Int64N(3)},
			}[r.IntN(10)])
		}
		e := wire.Envelope(wire.AppendEnvelope(nil, &o))
		x.Read(e)
		for i := -1; i <= 8; i++ {
			require.Equal(t, e.Field(i), x.Field(i))
			require.Equal(t, e.Column(i), x.Column(i))
			text, ok := x.Text(i)
			require.Equal(t, e.Column(i).Text, text)
			require.Equal(t, e.Column(i).Kind == api.String || e.Column(i).Kind == api.Null, ok)
		}
		require.Equal(t, o.Key, x.Key())

		x.Read(e[:r.IntN(len(e))]) // a truncated envelope causes no panic
		for i := range 8 {
			x.Field(i)
			x.Text(i)
			x.Column(i)
		}
	}
	x.Read(nil)
	require.Equal(t, api.Value{}, x.Column(0))
	require.Equal(t, "", x.Field(0))
}
