package coretest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/coretest"
)

// The error for an invalid scenario names the file and the line.
func TestMistakesInAScenario(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown verb", "fly\n----\n", `s.txt:1: fly: there is no such verb; there are accept, acquire,`},
		{"unknown option", "load v1/pods rv=1\nlist 1 colour=red\n----\n", `s.txt:2: list: list does not take "colour=red"; its options are ns= labels=`},
		{"missing word", "# hm\nget 1\n----\n", `s.txt:2: get: get needs a key such as default/a`},
		{"missing rv", "load v1/pods\n----\n", `s.txt:1: load: load needs rv=, a resource version`},
		{"object without rv", "load v1/pods rv=4\n  default/a\n----\n", `s.txt:1: load: in line 2: object default/a needs rv=`},
		{"unknown resource", "load v1/pots rv=4\n----\n", `s.txt:1: load: there is no resource v1/pots; there are v1/pods, v1/configmaps, v1/nodes`},
		{"no number", "list one\n----\n", `s.txt:1: list: the number of the collection is "one", and should be a number`},
		{"bad choice", "list 1 match=Newest\n----\n", `s.txt:1: list: match is "Newest", which is none of NotOlderThan, Exact`},
		{"no time", "tick soon\n----\n", `s.txt:1: tick: a time such as 1s is "soon", and should be a time such as 500ms, 10s or -1h`},
		{"late config", "inspect\nconfig seed=2\n----\n", `s.txt:2: config: the engine is open already; config comes first`},
		{"not loaded", "put v1/pods default/a rv=1\n----\n", `s.txt:1: put: the connector has not listed this resource yet; load it first`},
		{"no base", "load v1/pods rv=1\nput v1/pods default/a rv=2 delta\n----\n", `s.txt:2: put: there is no earlier version of default/a that its body could be the difference from`},
		{"no dashes", "inspect\n\nlist 1\n----\n", `s.txt:2: a step ends with a line of four dashes`},
		{"no dashes at the end", "inspect\n", `s.txt:1: the last step has no "----"; add it`},
		{"stray indent", "  default/a\n----\n", `s.txt:1: an indented line belongs to the verb above it, and there is none`},
		{"open quote", "list 1 labels=\"a\n----\n", `s.txt:1: a double quote is not closed`},
		{"other output", "wakes\n----\nwake-up in 1s\n", "s.txt:3: the output of the engine differs.\n  - wake-up in 1s\n  + no wake-up\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.txt")
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			s, err := coretest.Load(path)
			if err == nil {
				err = s.Check()
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestRewriteKeepsCommentary(t *testing.T) {
	const before = "# One.\n\n# Two.\nwakes\n----\nnonsense\nand more\n\n# Three.\nwakes\n# Four.\n----\n"
	const after = "# One.\n\n# Two.\nwakes\n----\nno wake-up\n\n# Three.\nwakes\n# Four.\n----\nno wake-up\n"
	path := filepath.Join(t.TempDir(), "s.txt")
	require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
	for range 2 {
		s, err := coretest.Load(path)
		require.NoError(t, err)
		require.NoError(t, s.Rewrite())
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, after, string(got))
	}
}

// Two runs of a scenario make the same calls and return the same bytes.
func TestTranscriptsAreDeterministic(t *testing.T) {
	path := filepath.Join(dir, "too-old-relist.txt")
	one, err := coretest.Compile(path)
	require.NoError(t, err)
	other, err := coretest.Compile(path)
	require.NoError(t, err)
	require.Equal(t, one, other)
	require.NotEmpty(t, one.Calls[0].Open)
}
