package rulebook_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/rulebook"
)

// moduleWith writes a Go module whose package core/a contains the given code and tests, and
// returns its directory.
func moduleWith(t *testing.T, code, tests string) (root string) {
	root = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "core/a"), 0o755))
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26.0\n", "core/a/a.go": code, "core/a/a_test.go": tests} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root
}

const code = `package a

func One() int {
	return 1
}
`

const tests = `package a

import "testing"

func TestOne(t *testing.T) {
	if One() != 1 {
		t.Fatal(One())
	}
}

func TestPanics(t *testing.T) {
	if One() != 1 {
		panic("not one")
	}
}

func TestParts(t *testing.T) {
	t.Run("one", TestOne)
	t.Run("none", func(t *testing.T) {})
}

func TestSkipped(t *testing.T) { t.Skip() }
`

func run(t *testing.T, claimed, replacement string) (*rulebook.Result, error) {
	r := &rulebook.Runner{Root: moduleWith(t, code, tests), Temp: t.TempDir()}
	m, err := rulebook.ParseMutant("x.mutant", "# Wrong.\nrules: W7\ntest: core/a "+claimed+"\n\n@@ core/a/a.go\n-	return 1\n+	"+replacement+"\n")
	require.NoError(t, err)
	return r.Run(t.Context(), m, nil)
}

func TestRunDistinguishesCaughtFromMissed(t *testing.T) {
	result, err := run(t, "TestOne TestPanics TestParts/one TestParts/none", "return 2")
	require.NoError(t, err)
	require.Equal(t, []string{"core/a TestOne", "core/a TestPanics", "core/a TestParts/one"}, result.Caught)
	require.Equal(t, []string{"core/a TestParts/none"}, result.Missed)
}

func TestMutantThatDoesNotBuildIsAnError(t *testing.T) {
	_, err := run(t, "TestOne", "return")
	require.ErrorIs(t, err, rulebook.ErrBuild)
	require.ErrorContains(t, err, "x.mutant")
}

func TestClaimOfATestThatDoesNotRunIsAnError(t *testing.T) {
	for _, name := range []string{"TestNone", "TestSkipped"} {
		_, err := run(t, name, "return 2")
		require.ErrorContains(t, err, "core/a has no test "+name+", or it was skipped")
	}
}

func TestBaselineRejectsTestsThatFailWithoutAMutant(t *testing.T) {
	r := &rulebook.Runner{Root: moduleWith(t, code, `package a

import "testing"

func TestFails(t *testing.T) { t.Fatal() }
func TestPasses(t *testing.T) {}
`), Temp: t.TempDir()}
	claim := func(name string) *rulebook.Claims {
		return &rulebook.Claims{Mutants: []*rulebook.Mutant{{Name: "x", Tests: []rulebook.Test{{Package: "core/a", Name: name}}}}}
	}
	require.NoError(t, r.Baseline(t.Context(), claim("TestPasses")))
	require.ErrorContains(t, r.Baseline(t.Context(), claim("TestFails")), "fail without any mutant, in core/a: TestFails")
}
