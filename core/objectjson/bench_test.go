package objectjson_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/objectjson"
)

var fixtures = []string{"pod.json", "deployment.json", "configmap.json", "node.json"}

// BenchmarkScan measures the time and the allocations of Scan for each fixture. It also
// reports how many times longer encoding/json takes, in the same run, to decode the same
// object into a map.
func BenchmarkScan(b *testing.B) {
	for _, name := range fixtures {
		raw := fixture(b, name)
		var baseline float64
		b.Run(name+"/encoding-json-map", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				var m map[string]any
				if err := json.Unmarshal(raw, &m); err != nil {
					b.Fatal(err)
				}
			}
			baseline = nanosPerOp(b)
		})
		for _, c := range []struct {
			name string
			opts objectjson.Options
		}{{"scan", objectjson.Options{}}, {"scan-keeping-all", objectjson.Options{KeepManagedFields: true, KeepLastApplied: true}}} {
			b.Run(name+"/"+c.name, func(b *testing.B) {
				s := newScanner(b, podSchema())
				b.ReportAllocs()
				b.SetBytes(int64(len(raw)))
				for b.Loop() {
					if _, err := s.Scan(raw, c.opts); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(baseline/nanosPerOp(b), "x-encoding/json")
			})
		}
	}
}

func BenchmarkSetResourceVersion(b *testing.B) {
	o, err := newScanner(b, podSchema()).Scan(fixture(b, "pod.json"), objectjson.Options{})
	require.NoError(b, err)
	b.Run(fmt.Sprintf("pod-of-%d-bytes", len(o.Body.Data)), func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(o.Body.Data)))
		var dst []byte
		for b.Loop() {
			if dst, err = objectjson.SetResourceVersion(dst[:0], o.Body.Data, 4711); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func nanosPerOp(b *testing.B) float64 { return float64(b.Elapsed().Nanoseconds()) / float64(b.N) }
