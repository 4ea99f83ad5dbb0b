package rulebook_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/rulebook"
)

func TestParseRules(t *testing.T) {
	rules, err := rulebook.ParseRules("# Title\n\n- **W1** kept. First line,\n  second line (see W2).\n- **W2** not applicable. No. *Here:* why.\n\nText W3.\n")
	require.NoError(t, err)
	require.Equal(t, []*rulebook.Rule{
		{ID: "W1", Status: rulebook.Kept, Text: "First line, second line (see W2).", Line: 3},
		{ID: "W2", Status: rulebook.NotApplicable, Text: "No. *Here:* why.", Line: 5},
	}, rules)
	for text, want := range map[string]string{
		"- **W1** kept. A.\n- **W1** kept. B.\n":   "core/SEMANTICS.md:2: W1 is also defined in line 1",
		"- **W1** done. A.\n":                      "core/SEMANTICS.md:1: expected \"- **ID** STATUS. Text\"",
		"W1 kept. A.\n":                            "core/SEMANTICS.md:1: expected \"- **ID** STATUS. Text\"",
		"- **W1** kept differently. Nothing more.": "core/SEMANTICS.md:1: W1 is kept differently and must describe the difference after \"*Here:*\"",
	} {
		_, err := rulebook.ParseRules(text)
		require.ErrorContains(t, err, want)
	}
}

// treeWith creates a directory with the given files.
func treeWith(t *testing.T, files map[string]string) (root string) {
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

const step = "collection 1 v1/pods\n----\n"

func TestOnlyNamedTestsAndClaimedMutantsProve(t *testing.T) {
	root := treeWith(t, map[string]string{
		"core/SEMANTICS.md": `
- **W1** kept. Proven by the name of a test.
- **W2** kept. Proven by a scenario that must notice a mutant.
- **W3** kept. Proven by a test that must notice a mutant.
- **W4** kept. Proven by the name of a subtest.
- **W5** kept. Only cited by a test that notices a mutant of another rule.
- **W6** kept. Only listed by a mutant that no test of this rule notices.
- **W7** kept. Only mentioned in a comment of code and of a test.
- **W8** kept. Only named by a test in the middle of its name.
- **W9** not applicable. Cited by everyone. *Here:* nothing.
`,
		"core/a/a.go": "package a\n\n// A keeps rule W7.\nfunc A() {}\n",
		"core/a/a_test.go": `package a

// TestW1_Proves W9.
func TestW1_Proves(t *testing.T) {}

// TestMutant is about W3 and W5.
func TestMutant(t *testing.T) {
	// rule W7
	t.Run("W4 works", nil)
}

func TestInTheMiddle_W8(t *testing.T) {}
`,
		"core/sim/mutants/one.mutant":   "# A.\nrules: W3 W6\ntest: core/a TestMutant\n\n@@ core/a/a.go\n-func A() {}\n+func A() { }\n",
		"core/sim/mutants/two.mutant":   "# A.\nrules: W2\n\n@@ core/a/a.go\n-func A() {}\n+func A() { }\n",
		"testdata/scenarios/good.txt":   "# A.\n#\n# Rules: W2\n# Mutants: two\n\n" + step,
		"testdata/scenarios/prose.md":   "# Rules: W6\n# Mutants: one\n",
		"testdata/scenarios/inside.txt": "# A.\n\n" + step + "\n# Rules: W6\n# Mutants: one\n" + step,
	})
	c, err := rulebook.LoadCoverage(root)
	require.NoError(t, err)
	var unproven []string
	for _, r := range c.Unproven() {
		unproven = append(unproven, r.ID)
	}
	assert.Equal(t, []string{"W5", "W6", "W7", "W8"}, unproven)
	assert.Empty(t, c.Dangling)
	assert.Equal(t, "rules: 8 kept, 0 kept differently, 1 not applicable, 0 not kept; 2 proven by a mutant, "+
		"2 by a test named after them, 4 without a test that fails when they break", c.String())
}

func TestCitationsOfMissingRulesAreFound(t *testing.T) {
	root := treeWith(t, map[string]string{
		"core/SEMANTICS.md":           "- **W1** kept. A.\n",
		"core/a/a.go":                 "package a\n\n// A keeps rules W1, H1 and H2, not P99.\nfunc A() {}\n",
		"core/a/a_test.go":            "package a\n\nfunc TestK1_A(t *testing.T) {}\n",
		"core/sim/mutants/one.mutant": "# A.\nrules: C1\n\n@@ core/a/a.go\n-x\n",
		"testdata/scenarios/good.txt": "# A.\n#\n# Rules: R1\n# Mutants: one\n\n" + step,
	})
	c, err := rulebook.LoadCoverage(root)
	require.NoError(t, err)
	var missing []string
	for _, d := range c.Dangling {
		missing = append(missing, d.Where+" "+d.Rule)
	}
	assert.ElementsMatch(t, []string{
		"core/a/a.go:3 H1", "core/a/a.go:3 H2", "core/a/a_test.go:3 K1",
		"core/sim/mutants/one.mutant C1", "testdata/scenarios/good.txt R1",
	}, missing)
}

// The tests and scenarios whose names occur in the rulebook must exist.
func TestSemanticsRefersToExistingTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, rulebook.SemanticsPath))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`([a-z0-9-]+\.txt)`).FindAllString(string(text), -1) {
		assert.FileExists(t, filepath.Join(root, rulebook.ScenarioDir, m))
	}
	tests, err := rulebook.LoadGoTests(root)
	require.NoError(t, err)
	named := regexp.MustCompile("([a-z0-9/]+) `(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		assert.Contains(t, tests.Cited, rulebook.Test{Package: m[1], Name: m[2]})
	}
}

func TestEveryRuleIsProvenAndEveryCitationResolves(t *testing.T) {
	c, err := rulebook.LoadCoverage(root)
	require.NoError(t, err)
	for _, r := range c.Unproven() {
		assert.Fail(t, "no test fails when "+r.ID+" breaks: "+r.Text)
	}
	assert.Empty(t, c.Dangling)
}
