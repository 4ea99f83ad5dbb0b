package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newProject creates a repository with small versions of the files that a release uses, and
// returns its directory.
func newProject(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	files := map[string]string{
		"go.mod":                               "module " + modulePath + "\n\ngo 1.26.0\n",
		"host/cmd/watchglass/main.go":          "package main\n\nvar version string\n\nfunc main() { println(version) }\n",
		"host/THIRD_PARTY.md":                  "| Module | Version | License |\n|---|---|---|\n| std | of Go | BSD-3-Clause |\n",
		"host/client/module/.gitignore":        "*.wasm\n",
		"host/server/page/.gitignore":          "*\n!.gitignore\n",
		"LICENSE":                              "license\n",
		"README.md":                            "readme\n",
		"js/package.json":                      `{"name": "watchglass", "version": "0.1.0", "files": ["dist"]}`,
		"js/.gitignore":                        "dist/\n",
		"examples/deploy/chart/Chart.yaml":     "name: watchglass\nversion: 0.1.0\nappVersion: v0.1.0\n",
		"examples/deploy/base/deployment.yaml": "      - name: watchglass\n        image: registry.example.com/watchglass:v0.1.0\n",
		"Makefile":                             "embedded:\n\techo wasm > host/client/module/watchglass.wasm\n\techo page > host/server/page/index.html\n\tmkdir -p js/dist && echo js > js/dist/index.js\n",
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	shell(t, dir, "git init -qb main . && git add . && git commit -qm 'all: begin'")
	return dir
}

func build(t *testing.T, dir, version string) (out string, err error) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "out")
	var log testLog
	err = run(t.Context(), []string{"-C", dir, "-version", version, "-out", out, "-platforms", "linux/amd64,linux/arm64"}, io.Discard, &log)
	if err != nil {
		t.Logf("%s", log)
	}
	return out, err
}

type testLog []byte

func (l *testLog) Write(p []byte) (int, error) { *l = append(*l, p...); return len(p), nil }

func TestATagContainsTheProductsAndNoBranchContainsTheTag(t *testing.T) {
	dir := newProject(t)
	head := shell(t, dir, "git rev-parse HEAD")
	out, err := build(t, dir, "v0.2.0")
	require.NoError(t, err)

	require.Equal(t, head, shell(t, dir, "git rev-parse HEAD"))
	require.Equal(t, head, shell(t, dir, "git rev-parse v0.2.0^"))
	require.Empty(t, shell(t, dir, "git branch --contains v0.2.0"))
	require.Empty(t, shell(t, dir, "git status --porcelain"))
	require.Equal(t, "examples/deploy/base/deployment.yaml\nexamples/deploy/chart/Chart.yaml\nhost/client/module/watchglass.wasm\nhost/server/page/index.html\njs/package.json\n",
		shell(t, dir, "git diff --name-only main v0.2.0"))
	require.Equal(t, "wasm\n", shell(t, dir, "git show v0.2.0:host/client/module/watchglass.wasm"))
	require.Contains(t, shell(t, dir, "git show v0.2.0:js/package.json"), `"version":"0.2.0"`)
	require.Contains(t, shell(t, dir, "git show v0.2.0:examples/deploy/base/deployment.yaml"), "image: registry.example.com/watchglass:v0.2.0\n")
	require.Equal(t, "name: watchglass\nversion: 0.2.0\nappVersion: v0.2.0\n", shell(t, out, "tar -xOzf watchglass-chart-0.2.0.tgz watchglass/Chart.yaml"))
	require.Equal(t, "wasm\n", shell(t, out, "cat watchglass.wasm"))

	require.Equal(t, "checksums.txt\nwatchglass-0.2.0.tgz\nwatchglass-chart-0.2.0.tgz\nwatchglass.wasm\nwatchglass_v0.2.0.cdx.json\nwatchglass_v0.2.0.spdx.json\n"+
		"watchglass_v0.2.0_image.digest\nwatchglass_v0.2.0_image.tar\nwatchglass_v0.2.0_linux_amd64.tar.gz\nwatchglass_v0.2.0_linux_arm64.tar.gz\n",
		shell(t, out, "LC_ALL=C ls"))
	shell(t, out, `sha256sum --quiet --strict -c checksums.txt && [ "$(wc -l < checksums.txt)" = 9 ]`)

	_, err = build(t, dir, "v0.2.0")
	require.ErrorContains(t, err, "tag v0.2.0 exists")
}

func TestReleasesOfOneCommitAreEqual(t *testing.T) {
	first, second := newProject(t), newProject(t)
	a, err := build(t, first, "v0.2.0-rc.1")
	require.NoError(t, err)
	t.Setenv("GOFLAGS", "-gcflags=-N")
	b, err := build(t, second, "v0.2.0-rc.1")
	require.NoError(t, err)
	require.Equal(t, shell(t, first, "git rev-parse v0.2.0-rc.1"), shell(t, second, "git rev-parse v0.2.0-rc.1"))
	require.Equal(t, shell(t, a, "cat checksums.txt"), shell(t, b, "cat checksums.txt"))
}

func TestAFailedReleaseLeavesNoTag(t *testing.T) {
	dir := newProject(t)
	shell(t, dir, "echo 'package main' > host/cmd/watchglass/main.go && git commit -qam 'watchglass: break'")
	_, err := build(t, dir, "v0.2.0")
	require.ErrorContains(t, err, "go build")
	require.Empty(t, shell(t, dir, "git tag"))
}

func TestAManifestWithoutAVersionIsNamed(t *testing.T) {
	dir := newProject(t)
	shell(t, dir, "echo 'version: 0.1.0' > examples/deploy/chart/Chart.yaml && git commit -qam 'deploy: break'")
	_, err := build(t, dir, "v0.2.0")
	require.ErrorContains(t, err, "examples/deploy/chart/Chart.yaml has 0 lines that match")
}

func TestArchivesContainTheBinaryAndTheLicenses(t *testing.T) {
	out, err := build(t, newProject(t), "v0.2.0")
	require.NoError(t, err)
	base := "watchglass_v0.2.0_linux_amd64"
	shell(t, out, "tar -xzf "+base+".tar.gz")
	require.Equal(t, "v0.2.0\n", shell(t, out, base+"/watchglass"))
	require.Equal(t, []string{base + "/watchglass", base + "/LICENSE", base + "/README.md", base + "/THIRD_PARTY.md"}, tarNames(t, filepath.Join(out, base+".tar.gz")))
}

// The test archives a file instead of a binary for Windows, because compiling the runtime for a
// third platform takes 17 s of processor time.
func TestArchivesForWindowsAreZipFiles(t *testing.T) {
	dir, out := newProject(t), t.TempDir()
	windows := platform{"windows", "arm64"}
	path := filepath.Join(t.TempDir(), windows.executable())
	require.NoError(t, os.WriteFile(path, []byte("binary"), 0o755))
	r := repository{dir: dir, log: io.Discard}
	require.NoError(t, r.archive(binary{windows, path}, options{version: "v0.2.0", out: out}, time.Now()))

	base := "watchglass_v0.2.0_windows_arm64"
	archive, err := zip.OpenReader(filepath.Join(out, base+".zip"))
	require.NoError(t, err)
	defer archive.Close()
	var names []string
	for _, f := range archive.File {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{base + "/watchglass.exe", base + "/LICENSE", base + "/README.md", base + "/THIRD_PARTY.md"}, names)
}

func tarNames(t *testing.T, path string) []string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	content, err := gzip.NewReader(file)
	require.NoError(t, err)
	var names []string
	for in := tar.NewReader(content); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		require.NoError(t, err)
		names = append(names, header.Name)
	}
}
