package rulebook_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/rulebook"
)

const root = "../../.."

const head = "# A wrong\n# behavior.\nrules: W7, W9\ntest: core/a TestA TestB/c\nsim: 20\n\n"

func TestParseMutant(t *testing.T) {
	m, err := rulebook.ParseMutant("dir/name.mutant", head+"@@ a.go\n-	old\n+	new\n")
	require.NoError(t, err)
	require.Equal(t, "name", m.Name)
	require.Equal(t, "A wrong behavior.", m.What)
	require.Equal(t, []string{"W7", "W9"}, m.Rules)
	require.Equal(t, []rulebook.Test{{Package: "core/a", Name: "TestA"}, {Package: "core/a", Name: "TestB/c"}}, m.Tests)
	require.Equal(t, 20, m.Seeds)
}

func TestParseMutantErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"rules: W7\n@@ a.go\n-x\n", "name.mutant: no description"},
		{"# A.\n@@ a.go\n-x\n", "name.mutant: names no rule"},
		{"# A.\nrules: W7\n", "name.mutant: changes nothing"},
		{"# A.\nrules: W7\n@@ a.go\n+x\n", "name.mutant:3: the hunk has no lines to replace"},
		{"# A.\nrules: W7\n@@ a.go\nx\n", "name.mutant:4: unexpected line \"x\" in a hunk"},
		{"# A.\nrule: W7\n", "name.mutant:2: unexpected line \"rule: W7\""},
		{"# A.\ntest: core/a\n", "name.mutant:2: \"test: core/a\": expected a package and at least one test"},
		{"# A.\nsim: many\n", "name.mutant:2: \"sim: many\": expected a number of seeds"},
		{"# A.\nsim: 0\n", "name.mutant:2: \"sim: 0\": expected a number of seeds"},
	} {
		_, err := rulebook.ParseMutant("name.mutant", c.text)
		require.ErrorContains(t, err, c.want, c.text)
	}
}

func TestApplyReplacesLinesThatOccurOnce(t *testing.T) {
	const file = "a\n\tb {\n\tc\n}\nb\nc\n"
	for _, c := range []struct{ hunk, want, err string }{
		{hunk: "-a\n+x\n+y\n", want: "x\ny\n\tb {\n\tc\n}\nb\nc\n"},
		{hunk: " b {\n-c\n", want: "a\nb {\n}\nb\nc\n"},
		{hunk: "-c\n", err: "name.mutant:8: the lines to replace must occur once in a.go, and occur 2 times; begin the hunk with more of the lines before it; they occur at lines [3 6]"},
		{hunk: "-d\n", err: "name.mutant:8: the lines to replace must occur once in a.go, and occur 0 times; update the hunk"},
		{hunk: "-a\n+x\n@@ a.go\n-x\n+z\n", want: "z\n\tb {\n\tc\n}\nb\nc\n"},
		{hunk: "-a\n+x\n@@ b.go\n-x\n", err: "name.mutant:11: open"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(file), 0o600))
		m, err := rulebook.ParseMutant("name.mutant", head+"\n@@ a.go\n"+c.hunk)
		require.NoError(t, err)
		files, err := m.Apply(dir)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a.go": c.want}, files)
	}
}

// This test fails as soon as a code change invalidates a mutant, long before "make mutants"
// runs.
func TestEveryMutantApplies(t *testing.T) {
	mutants, err := rulebook.LoadMutants(root)
	require.NoError(t, err)
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			files, err := m.Apply(root)
			require.NoError(t, err)
			for file, changed := range files {
				content, err := os.ReadFile(filepath.Join(root, file))
				require.NoError(t, err)
				require.NotEqual(t, string(content), changed)
			}
		})
	}
}

// Each mutant must be claimed by a test, a scenario or the simulation. The header of each
// scenario must list its rules, and at least one mutant that the scenario detects.
func TestEveryMutantAndScenarioHasClaims(t *testing.T) {
	claims, err := rulebook.LoadClaims(root)
	require.NoError(t, err)
	require.NoError(t, claims.Check())
	require.NotEmpty(t, claims.Mutants)
}
