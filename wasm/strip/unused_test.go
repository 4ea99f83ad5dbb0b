package strip

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// bodies returns the number of functions of a module that have the given code.
func bodies(t *testing.T, file []byte, want code) (count int) {
	t.Helper()
	m, err := parse(file)
	require.NoError(t, err)
	require.NoError(t, m.eachFunction(func(_ int, content []byte) []byte {
		if bytes.Equal(content, want) {
			count++
		}
		return content
	}))
	return count
}

func TestUnusedFunctionsHaveNoCode(t *testing.T) {
	file := recognized(t)
	small, err := Module(file)
	require.NoError(t, err)
	require.Zero(t, bodies(t, file, traps))
	require.Greater(t, bodies(t, small, traps), 80)
	require.Greater(t, bodies(t, small, returnsAtOnce), 15)
}

// A stripped program that uses the tracer and profiles keeps their functions.
func TestUsedFeaturesOfTheRuntimeStay(t *testing.T) {
	recognized(t) // skips a release that is not stripped
	file, err := linkOf("./testdata/profiles")
	require.NoError(t, err)
	small, err := Module(file)
	require.NoError(t, err)
	require.Less(t, bodies(t, small, traps), 40)
	want, _, _ := compile(t, file).run(t, nil, "")
	got, errs, code := compile(t, small).run(t, nil, "")
	require.Zero(t, code, errs)
	require.Equal(t, "events: true\nallocations: true blocked: true goroutines: 1\n", got)
	require.Equal(t, want, got)
}

func TestFeatureIsOffUnlessItIsUsed(t *testing.T) {
	f := feature{[]string{"runtime.Start", "runtime.profile*"}, []string{"runtime.record", "runtime.locker.*"}}
	names := []string{"main.main", "runtime.record", "runtime.records", "runtime.locker.lock", "runtime.locker", "runtime.StartNot"}
	selected := func(names []string) (numbers []int) {
		in := f.in(names)
		for i := range names {
			if in(i) {
				numbers = append(numbers, i)
			}
		}
		return numbers
	}
	require.Equal(t, []int{1, 3}, selected(names))
	require.Empty(t, selected(append(names, "runtime.Start")))
	require.Empty(t, selected(append(names, "runtime.profileAll")))
}
