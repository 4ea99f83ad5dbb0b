package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each line of the Go snippet in the README occurs in the tested program in
// examples/embed-go. Package links checks the files that the README names.
func TestREADMESnippetEqualsTheExample(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	snippet := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, snippet, "the README has no Go snippet")
	example, err := os.ReadFile("../../examples/embed-go/main.go")
	require.NoError(t, err)
	for line := range strings.Lines(string(snippet[1])) {
		require.Contains(t, string(example), strings.TrimSpace(line))
	}
}

func TestTheREADMEIsShort(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, len(strings.Fields(string(readme))), 900, "words; move details to the documents that it links")
	picture, err := os.Stat("../../examples/dashboard/screenshot.png")
	require.NoError(t, err)
	require.Less(t, picture.Size(), int64(300_000))
}
