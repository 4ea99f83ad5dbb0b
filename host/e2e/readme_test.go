package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Go snippet of the README is the one that examples/embed-go is tested
// with, and the files it names exist.
func TestREADME_is_true(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	snippet := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, snippet, "the README has no Go snippet")
	example, err := os.ReadFile("../../examples/embed-go/main.go")
	require.NoError(t, err)
	for line := range strings.Lines(string(snippet[1])) {
		require.Contains(t, string(example), strings.TrimSpace(line))
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllSubmatch(readme, -1) {
		if strings.HasPrefix(string(link[1]), "https://") {
			continue
		}
		_, err := os.Stat("../../" + string(link[1]))
		require.NoError(t, err)
	}
}
