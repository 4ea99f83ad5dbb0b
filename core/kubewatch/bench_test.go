package kubewatch_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
)

// BenchmarkChange measures the cost of one changed pod, from parsing the watch event to
// updating an open watch and an open view.
func BenchmarkChange(b *testing.B) {
	raw, err := os.ReadFile("../../testdata/objects/pod.json")
	require.NoError(b, err)
	pod := strings.Join(strings.Fields(string(raw)), " ")
	const objects, batch = 1000, 100
	r := newRig(b)
	r.collection()
	r.step(&wire.OpenWatch{Watch: 1, Collection: 1, LabelSelector: "app=web"})
	r.step(&wire.OpenView{View: 1, Collection: 1, Sort: "-Restarts", Limit: 50})
	stream, rv := r.watching(), 1000
	next := func() (events []byte) {
		for range batch {
			rv++
			changed := strings.Replace(pod, `"name":`, fmt.Sprintf(`"resourceVersion": "%d", "name":`, rv), 1)
			changed = strings.Replace(changed, "-x2k4q", fmt.Sprintf("-x%d", rv%objects), 1)
			events = append(events, watchEvent("MODIFIED", changed)...)
		}
		return (&wire.StreamData{Stream: stream, Data: events}).Append(nil)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(pod)))
	for n := 0; b.Loop(); n++ {
		if n%batch != 0 {
			continue
		}
		b.StopTimer()
		frames := next()
		b.StartTimer()
		if err := r.engine.Step(frames); err != nil {
			b.Fatal(err)
		}
		for r.engine.Ready() != nil {
			r.engine.Advance()
		}
	}
}
