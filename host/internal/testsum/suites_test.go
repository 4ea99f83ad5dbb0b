package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostAtATime runs a suite of six units, and returns the maximum number of units that ran
// at the same time.
func mostAtATime(t *testing.T, jobs int) (most int) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running := 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
			most = max(most, running)
		}
		one := func(_ context.Context, _ io.Writer, each func(result)) error {
			count(1)
			time.Sleep(time.Second) // in this time, every other unit that may run begins
			count(-1)
			each(result{test: "Test", outcome: passed})
			return nil
		}
		units := make([]unit, 6)
		for i := range units {
			units[i] = unit{"unit", one}
		}
		got, _ := run(t.Context(), io.Discard, suite{name: "all", units: units, jobs: jobs})
		assert.Equal(t, "6 passed, 0 failed", got.String())
	})
	return most
}

func TestSuiteRunsUnitsInParallel(t *testing.T) { assert.Equal(t, 3, mostAtATime(t, 3)) }

// A suite without jobs runs one unit at a time, because its units may use the whole
// machine.
func TestSuiteRunsOneUnitAtATime(t *testing.T) { assert.Equal(t, 1, mostAtATime(t, 0)) }

// The go command ignores a flag for a package that is not built.
func TestPackagesWithoutTheRaceDetectorExist(t *testing.T) {
	t.Chdir("../../..") // the packages are relative to the root
	built, err := goList(append([]string{"-deps"}, raced...)...)
	require.NoError(t, err)
	for _, pattern := range computing {
		path := strings.TrimSuffix(pattern, "/...")
		assert.True(t, slices.Contains(built, path), "%s is not built for the tests with the race detector", path)
	}
}
