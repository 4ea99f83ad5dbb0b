package selector_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/selector"
)

const (
	typicalLabels = "app.kubernetes.io/name=web,tier in (backend,frontend),!canary,track!=beta"
	typicalFields = "metadata.namespace=default,status.phase!=Failed"
)

var (
	typicalSet = labelSet("app.kubernetes.io/instance", "web-1", "app.kubernetes.io/name", "web",
		"pod-template-hash", "5d8f7c9b4", "tier", "frontend", "track", "stable")
	typicalNames  = []string{"metadata.name", "metadata.namespace", "spec.nodeName", "status.phase"}
	typicalValues = []string{"web-1-5d8f7c9b4-abcde", "default", "node-17", "Running"}
)

func typicalValue(i int) string { return typicalValues[i] }

func bindTypical(t require.TestingT) selector.BoundFields {
	f, err := selector.ParseFields(typicalFields)
	require.NoError(t, err)
	bound, err := f.Bind(typicalNames)
	require.NoError(t, err)
	return bound
}

// Matching runs for every event and every watcher, so it must not allocate.
func TestMatchesDoesNotAllocate(t *testing.T) {
	l := parseLabels(t, typicalLabels)
	memo := selector.NewMemo(l)
	bound := bindTypical(t)
	memo.Matches(63, typicalSet)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if !l.Matches(typicalSet) || !memo.Matches(17, typicalSet) || !bound.Matches(typicalValue) {
			panic("the typical selectors match the typical object")
		}
	}))
}

func BenchmarkParseLabels(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = selector.ParseLabels(typicalLabels)
	}
}

func BenchmarkLabelsString(b *testing.B) {
	l, err := selector.ParseLabels(typicalLabels)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_ = l.String()
	}
}

func BenchmarkLabelsMatches(b *testing.B) {
	l, err := selector.ParseLabels(typicalLabels)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		l.Matches(typicalSet)
	}
}

func BenchmarkMemoMatches(b *testing.B) {
	l, err := selector.ParseLabels(typicalLabels)
	require.NoError(b, err)
	memo := selector.NewMemo(l)
	b.ReportAllocs()
	for b.Loop() {
		memo.Matches(17, typicalSet)
	}
}

func BenchmarkParseFields(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = selector.ParseFields(typicalFields)
	}
}

func BenchmarkBoundFieldsMatches(b *testing.B) {
	bound := bindTypical(b)
	b.ReportAllocs()
	for b.Loop() {
		bound.Matches(typicalValue)
	}
}
