package server_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/rulebook"
)

// Each row of the threat model in SECURITY.md names tests that exist.
func TestThreatModelRefersToExistingTests(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	_, model, found := strings.Cut(string(text), "## Threat model\n")
	require.True(t, found)
	model, _, _ = strings.Cut(model, "\n## ")
	tests, err := rulebook.LoadGoTests("../..")
	require.NoError(t, err)
	inPackage := regexp.MustCompile("([a-z0-9/]+)((?: `Test[A-Za-z0-9_]+`)+)")
	lines := 0
	for line := range strings.Lines(model) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Threat ") {
			continue
		}
		lines++
		cells := strings.Split(line, " | ")
		require.Len(t, cells, 3, line)
		named := inPackage.FindAllStringSubmatch(cells[2], -1)
		assert.NotEmpty(t, named, "no test: %s", line)
		for _, m := range named {
			for name := range strings.FieldsSeq(m[2]) {
				test := rulebook.Test{Package: m[1], Name: strings.Trim(name, "`")}
				_, exists := tests.Cited[test]
				assert.True(t, exists, "%s does not exist: %s", test, line)
			}
		}
	}
	assert.Greater(t, lines, 30)
}
