package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlySemanticVersionsOfTheModulePathAreReleased(t *testing.T) {
	for _, version := range []string{"v0.2.0", "v1.0.0", "v1.2.3-rc.1"} {
		require.NoError(t, checkVersion(version), version)
	}
	for version, want := range map[string]string{
		"":             "is not semantic",
		"0.2.0":        "is not semantic",
		"v0.2.0.1":     "is not semantic",
		"v01.2.3":      "is not semantic",
		"latest":       "is not semantic",
		"v0.2":         "expected v0.2.0",
		"v0.2.0+build": "expected v0.2.0",
		"v2.0.0":       "the module path to end in /v2",
	} {
		require.ErrorContains(t, checkVersion(version), want, version)
	}
}

// shell runs a shell script in a directory and returns its output. The environment sets
// the author and the time of git commits.
func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestAReleaseNeedsACleanTreeAndANewTag(t *testing.T) {
	dir := t.TempDir()
	shell(t, dir, "git init -q . && echo 1 > tracked && echo ignored > .gitignore && git add . && git commit -qm 'x: y' && git tag v0.1.0")
	r, err := open(t.Context(), dir, io.Discard)
	require.NoError(t, err)
	require.NoError(t, r.check(t.Context(), "v0.2.0"))
	require.ErrorContains(t, r.check(t.Context(), "v0.1.0"), "tag v0.1.0 exists")
	require.ErrorContains(t, r.check(t.Context(), "0.2.0"), "is not semantic")

	shell(t, dir, "touch ignored")
	require.NoError(t, r.check(t.Context(), "v0.2.0"))
	shell(t, dir, "touch new")
	require.ErrorContains(t, r.check(t.Context(), "v0.2.0"), "?? new")
	shell(t, dir, "rm new && echo 2 > tracked")
	require.ErrorContains(t, r.check(t.Context(), "v0.2.0"), " M tracked")
}

func TestFilesOfAReleaseAreNotMixedWithOthers(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, checkOut(dir))
	require.NoError(t, checkOut(filepath.Join(dir, "missing")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old"), nil, 0o600))
	require.ErrorContains(t, checkOut(dir), "contains old")
}

func TestCommandLineIsComplete(t *testing.T) {
	for want, args := range map[string][]string{
		"-version and -out are required":          {"-version", "v1.0.0"},
		`argument "v1.0.0" is one too many`:       {"-out", "x", "v1.0.0"},
		`platform "linux" is malformed`:           {"-version", "v1.0.0", "-out", "x", "-platforms", "linux"},
		"flag provided but not defined: -unknown": {"-unknown"},
	} {
		_, err := parse(args, io.Discard)
		require.ErrorContains(t, err, want)
	}
	o, err := parse([]string{"-version", "v1.0.0", "-out", "x"}, io.Discard)
	require.NoError(t, err)
	require.Len(t, o.platforms, 6)
	require.True(t, filepath.IsAbs(o.out))
}
