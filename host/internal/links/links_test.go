package links

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinksOfAllMarkdownFilesResolve(t *testing.T) {
	problems, links, err := Check("../../..")
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.Greater(t, links, 100, "the files contain more links")
}

func TestEachKindOfBrokenLinkIsReported(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	write("a.md", "# One `0x02`\n\n[ok](b/c.md#two-words-1) [dir](b) [self](#one-0x02) [site](https://example.com/x#y)\n\n"+
		"```\n[code](missing.md)\n```\n")
	write("b/c.md", "## Two words\n## Two words\n[up](../a.md)\n\n"+
		"[1](missing.md) ![2](missing.png) [3](../a.md#no) [4](/a.md) [5](../../x.md) [6][ref] [7](d.txt#x) "+
		"[`ok`](d.txt) [`k`](d.txt) [`go run`](.)\n\n[ref]: gone.md\n")
	write("b/d.txt", "func ok()")
	write("node_modules/x.md", "[not ours](missing.md)")
	problems, links, err := Check(root)
	require.NoError(t, err)
	assert.Equal(t, []string{
		`b/c.md: "missing.md": the file does not exist`,
		`b/c.md: "missing.png": the file does not exist`,
		`b/c.md: "../a.md#no": the file has no such heading`,
		`b/c.md: "/a.md": is absolute; write it relative to the file`,
		`b/c.md: "../../x.md": leads out of the repository`,
		`b/c.md: "gone.md": the file does not exist`,
		`b/c.md: "d.txt#x": only Markdown files have anchors`,
		`b/c.md: "d.txt": the file does not contain k`,
	}, problems)
	assert.Equal(t, 15, links)
}
