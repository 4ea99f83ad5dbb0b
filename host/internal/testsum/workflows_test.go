package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// workflows returns the text of each file in .github/workflows.
func workflows(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../../.github/workflows/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

func TestWorkflowsPinActionsByDigest(t *testing.T) {
	uses := regexp.MustCompile(`(?m)^.*\buses:.*$`)
	pinned := regexp.MustCompile(`^ +(- )?uses: [a-z-]+/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for file, text := range workflows(t) {
		found := uses.FindAllString(text, -1)
		require.NotEmpty(t, found, file)
		for _, line := range found {
			require.Regexp(t, pinned, line, "%s: pin the action by its commit, and name the release in a comment", file)
		}
	}
}

// TestWorkflowsOnlyRead checks that only the release job has more than read permission.
func TestWorkflowsOnlyRead(t *testing.T) {
	permissions := regexp.MustCompile(`(?m)^( *)permissions:.*\n(?:  +[a-z-]+: [a-z]+(?: #.*)?\n)*`)
	for file, text := range workflows(t) {
		want := []string{"permissions:\n  contents: read\n"}
		if file == "release.yml" {
			want = append(want, `    permissions:
      contents: write # the tag and the release
      id-token: write # keyless signatures and npm provenance
      packages: write # the image
`)
		}
		require.Equal(t, want, permissions.FindAllString(text, -1), file)
	}
}

// TestReleasesAreMadeByHand checks that only a manual dispatch, and no push or pull
// request, can start the release workflow, which has write permission.
func TestReleasesAreMadeByHand(t *testing.T) {
	require.Regexp(t, `(?m)^on:\n  workflow_dispatch:\n(    .*\n)+\n`, workflows(t)["release.yml"])
}

func TestWorkflowsRunTargetsOfTheMakefile(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	require.NoError(t, err)
	target := regexp.MustCompile(`(?m)^ +- (?:run: )?make ([a-z-]+)`)
	for file, text := range workflows(t) {
		found := target.FindAllStringSubmatch(text, -1)
		require.NotEmpty(t, found, file)
		for _, m := range found {
			require.Regexp(t, `(?m)^`+m[1]+`:`, string(makefile), "%s runs make %s", file, m[1])
		}
	}
}
