package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostAtATime runs a suite of units that take a second each, and returns the maximum number of
// units that ran at the same time, and the duration. Most other lanes end after two and a half
// seconds.
func mostAtATime(t *testing.T, units, jobs, further int) (most int, took time.Duration) {
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
		others := make(chan struct{})
		time.AfterFunc(2500*time.Millisecond, func() { close(others) })
		begin := time.Now()
		got, _ := run(t.Context(), io.Discard, suite{name: "all", units: slices.Repeat([]unit{{"unit", one}}, units), jobs: jobs, further: further}, others)
		took = time.Since(begin)
		assert.Equal(t, fmt.Sprintf("%d passed, 0 failed", units), got.String())
	})
	return most, took
}

func TestSuiteRunsUnitsInParallel(t *testing.T) {
	for name, c := range map[string]struct {
		units, jobs, further int
		most                 int
		took                 time.Duration
	}{
		"by default one at a time, because units may use the whole machine": {units: 6, most: 1, took: 6 * time.Second},
		"up to its number of jobs": {units: 6, jobs: 3, most: 3, took: 2 * time.Second},
		// Six units end in the first three seconds. Two further ones have begun by then, after 2.5 s.
		"more once most other lanes have ended": {units: 14, jobs: 2, further: 2, most: 4, took: 5 * time.Second},
		"without waiting for the other lanes":   {units: 4, jobs: 2, further: 2, most: 2, took: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			most, took := mostAtATime(t, c.units, c.jobs, c.further)
			assert.Equal(t, c.most, most)
			assert.Equal(t, c.took, took)
		})
	}
}

// The further units of a lane begin when only one other lane is left.
func TestFurtherUnitsBeginWhenOneOtherLaneIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var ends []time.Duration
		var mu sync.Mutex
		takes := func(d time.Duration) unit {
			return unit{"unit", func(_ context.Context, _ io.Writer, each func(result)) error {
				time.Sleep(d)
				mu.Lock()
				defer mu.Unlock()
				ends = append(ends, time.Since(begin))
				each(result{test: "Test", outcome: passed})
				return nil
			}}
		}
		lane := func(further int, units ...unit) []suite {
			return []suite{{name: "all", units: units, further: further}}
		}
		four := slices.Repeat([]unit{takes(10 * time.Second)}, 4)
		require.Zero(t, runSuites(t.Context(), false, lane(1, four...), lane(0, takes(1*time.Second)), lane(0, takes(12*time.Second)), lane(0, takes(99*time.Second))))
		// The second lane and the third one end first. Then two of the four units run at a time.
		assert.Equal(t, []time.Duration{1, 10, 12, 20, 22, 30, 99}, seconds(ends))
	})
}

func seconds(all []time.Duration) []time.Duration {
	for i := range all {
		all[i] /= time.Second
	}
	return all
}

// The go command ignores flags for packages that are not built, such as misspelled ones.
func TestPackagesWithoutTheRaceDetectorExist(t *testing.T) {
	t.Chdir("../../..") // the packages are relative to the root
	built, err := goList(append([]string{"-deps"}, raced...)...)
	require.NoError(t, err)
	for _, pattern := range computing {
		path := strings.TrimSuffix(pattern, "/...")
		assert.True(t, slices.Contains(built, path), "%s is not built for the tests with the race detector", path)
	}
}

// After compile, "go test" compiles only the main function that it generates.
func TestCompileCompilesPackagesAndTheirTests(t *testing.T) {
	dir := t.TempDir() // a new path, so the build cache does not contain the package
	for name, text := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26\n",
		"m.go":      "package m\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc Test(*testing.T) {}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var messages strings.Builder
	compile(t.Context(), &messages, []suite{goTests("m", dir, 1, nil, ".")}, []suite{{name: "Node"}})
	require.Empty(t, messages.String())
	commands, err := exec.Command("go", "-C", dir, "test", "-vet=off", "-x", ".").CombinedOutput()
	require.NoError(t, err, string(commands))
	require.True(t, strings.Contains(string(commands), "/link "), "no link command")
	require.False(t, strings.Contains(string(commands), " -p example.com/m "), "the package is compiled again")
}

func TestCompileReportsErrors(t *testing.T) {
	var messages strings.Builder
	compile(t.Context(), &messages, []suite{{name: "m", build: []string{"list", "-unknown"}}})
	require.Contains(t, messages.String(), "compiling m: exit status")
}
