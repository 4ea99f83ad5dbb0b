package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// binary is the built watchglass command for one platform.
type binary struct {
	platform platform
	path     string
}

// documents are the files that every archive contains.
var documents = []string{"LICENSE", "README.md", "host/THIRD_PARTY.md"}

// artifacts builds the release files from the current commit and writes them to o.out.
func (r repository) artifacts(ctx context.Context, o options, binDir string, when time.Time) error {
	var binaries []binary
	for _, p := range o.platforms {
		b, err := r.binary(ctx, p, o.version, binDir)
		if err != nil {
			return err
		}
		if err := r.archive(b, o, when); err != nil {
			return err
		}
		binaries = append(binaries, b)
	}
	if err := r.npmTarball(ctx, o.out); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(r.dir, "host/client/module/watchglass.wasm"), filepath.Join(o.out, "watchglass.wasm")); err != nil {
		return err
	}
	if err := r.chartArchive(ctx, o, when); err != nil {
		return err
	}
	if err := r.writeImage(ctx, binaries, o, when); err != nil {
		return err
	}
	if err := r.writeSBOMs(ctx, binaries, o, when); err != nil {
		return err
	}
	return writeChecksums(o.out)
}

// binary builds the command for a platform. The result is a static binary, because cgo is
// disabled.
func (r repository) binary(ctx context.Context, p platform, version, dir string) (binary, error) {
	b := binary{p, filepath.Join(dir, p.os+"_"+p.arch, p.executable())}
	env := append(hermetic(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch)
	return b, r.build(ctx, env, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -X main.version="+version, "-o", b.path, "./host/cmd/watchglass")
}

// archive writes the archive with a binary and the documents: a zip file for Windows,
// otherwise a tar.gz file.
func (r repository) archive(b binary, o options, when time.Time) error {
	base := fmt.Sprintf("watchglass_%s_%s_%s", o.version, b.platform.os, b.platform.arch)
	files := []entry{{name: base + "/" + filepath.Base(b.path), source: b.path, mode: 0o755}}
	for _, d := range documents {
		files = append(files, entry{name: base + "/" + filepath.Base(d), source: filepath.Join(r.dir, d), mode: 0o644})
	}
	if b.platform.os == "windows" {
		return writeTo(filepath.Join(o.out, base+".zip"), func(w io.Writer) error { return writeZip(w, files, when) })
	}
	return writeTo(filepath.Join(o.out, base+".tar.gz"), func(w io.Writer) error { return writeTarGzip(w, files, when) })
}

func (r repository) npmTarball(ctx context.Context, out string) error {
	return r.in("js").build(ctx, nil, "npm", "pack", "--silent", "--pack-destination", out)
}

// chartArchive writes an archive of the Helm chart, in the format of "helm package".
func (r repository) chartArchive(ctx context.Context, o options, when time.Time) error {
	names, err := r.git(ctx, "ls-files", "--", chart)
	if err != nil {
		return err
	}
	var files []entry
	for name := range strings.Lines(names) {
		name = strings.TrimSpace(name)
		files = append(files, entry{name: "watchglass" + strings.TrimPrefix(name, chart), source: filepath.Join(r.dir, name), mode: 0o644})
	}
	path := filepath.Join(o.out, "watchglass-chart-"+npmVersion(o.version)+".tgz")
	return writeTo(path, func(w io.Writer) error { return writeTarGzip(w, files, when) })
}

// writeChecksums writes the SHA-256 of every file in a directory to the file checksums.txt,
// which "sha256sum -c" can check.
func writeChecksums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		sum, err := checksum(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, sum+"  "+e.Name()+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[2*sha256.Size:], b[2*sha256.Size:]) })
	return os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(strings.Join(lines, "")), 0o644)
}

func checksum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
