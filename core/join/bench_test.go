package join_test

import (
	"fmt"
	"testing"

	"github.com/watchglass/watchglass/core/coretest/objects"
)

// BenchmarkBuild builds a join of 10,000 pods with their metrics.
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

// BenchmarkChildren counts the 10,000 pods of 2,500 ReplicaSets of 500 Deployments, and then
// changes the state of one pod.
func BenchmarkChildren(b *testing.B) {
	var deployments, sets, pods []string
	for i := range 10_000 {
		if i%20 == 0 {
			deployments = append(deployments, fmt.Sprintf("a/d%d rv=1 uid=d%d", i/20, i/20))
		}
		if i%4 == 0 {
			sets = append(sets, fmt.Sprintf("a/s%d rv=1 uid=s%d owner=d%d", i/4, i/4, i/20))
		}
		pods = append(pods, fmt.Sprintf("a/p%d rv=1 owner=s%d app=web-%d phase=Running", i, i/4, i/20))
	}
	rows, between, below := listed(owning("deployments"), deployments...), listed(owning("replicasets"), sets...), listed(objects.Pods(), pods...)
	columns := childColumns("apps/v1/replicasets,")[:2]
	b.Run("Build", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			j := counting(rows, columns, between, below)
			j.Build(everything)
			j.Close()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/child")
	})
	b.Run("Change", func(b *testing.B) {
		j := counting(rows, columns, between, below)
		j.Build(everything)
		defer j.Close()
		rv := 1
		b.ReportAllocs()
		for b.Loop() {
			rv++
			apply(below, fmt.Sprintf("a/p17 rv=%d owner=s4 app=web-0 phase=%s", rv, []string{"Running", "Pending"}[rv%2]))
		}
	})
}

// BenchmarkManyChildren changes one of 10,000 children of an owner.
func BenchmarkManyChildren(b *testing.B) {
	var pods []string
	for i := range 10_000 {
		pods = append(pods, fmt.Sprintf("a/p%d rv=1 owner=s phase=Running", i))
	}
	below := listed(objects.Pods(), pods...)
	j := counting(listed(owning("jobs"), "a/s rv=1 uid=s"), childColumns("")[:2], below)
	j.Build(everything)
	rv := 1
	for b.Loop() {
		rv++
		apply(below, fmt.Sprintf("a/p17 rv=%d owner=s phase=%s", rv, []string{"Running", "Pending"}[rv%2]))
	}
}
