package join_test

import (
	"fmt"
	"testing"

	"github.com/watchglass/watchglass/core/coretest/objects"
)

// Reading the rows of 10,000 pods with metrics.
func BenchmarkBuild(b *testing.B) {
	var pods, usage []string
	for i := range 10_000 {
		pods = append(pods, fmt.Sprintf("a/pod-%d rv=1 app=web-%d phase=Running nodeName=node-%d restarts=3", i, i%100, i%50))
		usage = append(usage, fmt.Sprintf("a/pod-%d rv=1 CPU=%dm Memory=%dMi", i, i%1000, i%512))
	}
	c, o := listed(objects.Pods(), pods...), listed(metrics, usage...)
	b.ReportAllocs()
	for b.Loop() {
		j := newJoin(c, o)
		j.Build(everything)
		j.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/row")
}
