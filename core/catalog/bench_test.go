package catalog

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// BenchmarkScanPod scans a pod with and without printers. The difference is the cost of
// the printers.
func BenchmarkScanPod(b *testing.B) {
	raw, err := os.ReadFile("../../testdata/objects/pod.json")
	require.NoError(b, err)
	for _, printers := range []bool{false, true} {
		name := "paths"
		if printers {
			name = "printers"
		}
		b.Run(name, func(b *testing.B) {
			schema := Find(api.Resource{Version: "v1", Name: "pods"})
			columns := schema.Columns[:0]
			for _, c := range schema.Columns {
				if printers || c.Printer == "" {
					columns = append(columns, c)
				}
			}
			schema.Columns = columns
			s, err := NewScanner(schema)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Scan(raw, objectjson.Options{Unchecked: true, Borrowed: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
