package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// module describes a Go module that is linked into a released binary.
type module struct{ path, version, license string }

func (m module) purl() string { return "pkg:golang/" + m.path + "@" + m.version }

// bill is the content of an SBOM, independent of its format.
type bill struct {
	version string
	commit  string
	created time.Time
	modules []module // sorted by path
	files   []file   // files of the release, except SBOMs and checksums
}

// file is a released file and its SHA-256.
type file struct{ name, sum string }

// thirdParty is the file that lists every linked module and its license. "make lint"
// checks that the list is complete.
const thirdParty = "host/THIRD_PARTY.md"

// standardLibrary is the name of Go's standard library in thirdParty and in package URLs.
const standardLibrary = "std"

// writeSBOMs writes an SPDX and a CycloneDX file. Both describe the modules in the binaries
// and the files in o.out.
func (r repository) writeSBOMs(ctx context.Context, binaries []binary, o options, when time.Time) error {
	commit, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	listing, err := os.ReadFile(filepath.Join(r.dir, thirdParty))
	if err != nil {
		return err
	}
	b := bill{version: o.version, commit: commit, created: when}
	if b.modules, err = linked(binaries, listed(string(listing))); err != nil {
		return err
	}
	entries, err := os.ReadDir(o.out)
	if err != nil {
		return err
	}
	for _, e := range entries {
		sum, err := checksum(filepath.Join(o.out, e.Name()))
		if err != nil {
			return err
		}
		b.files = append(b.files, file{e.Name(), sum})
	}
	base := filepath.Join(o.out, "watchglass_"+o.version)
	if err := writeTo(base+".spdx.json", func(w io.Writer) error { return writeSPDX(w, b) }); err != nil {
		return err
	}
	return writeTo(base+".cdx.json", func(w io.Writer) error { return writeCycloneDX(w, b) })
}

var listedRow = regexp.MustCompile(`(?m)^\| (\S+) \| ([^|]+) \| (\S+) \|$`)

// listed returns the modules that the table in THIRD_PARTY.md lists.
func listed(document string) []module {
	var all []module
	for _, row := range listedRow.FindAllStringSubmatch(document, -1) {
		if row[1] != "Module" {
			all = append(all, module{row[1], row[2], row[3]})
		}
	}
	return all
}

// linked returns the known modules, sorted by path, and sets the version of the standard
// library. It returns an error if a binary contains a module that is not known.
func linked(binaries []binary, known []module) ([]module, error) {
	all := slices.Clone(known)
	for _, b := range binaries {
		info, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if all[i].path == standardLibrary {
				all[i].version = strings.TrimPrefix(info.GoVersion, "go")
			}
		}
		for _, d := range info.Deps {
			if d.Replace != nil {
				return nil, fmt.Errorf("the binary for %s contains %s in place of %s: go install refuses modules that replace others", b.platform, d.Replace.Path, d.Path)
			}
			if !slices.ContainsFunc(all, func(m module) bool { return m.path == d.Path && m.version == d.Version }) {
				return nil, fmt.Errorf("the binary for %s contains %s %s, which %s does not list: run make licenses", b.platform, d.Path, d.Version, thirdParty)
			}
		}
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return all, nil
}

// id returns the UUID of the SBOM. It is derived from the version and the commit, so that
// releases are reproducible.
func (b bill) id() string {
	sum := sha256.Sum256([]byte("watchglass " + b.version + " " + b.commit))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: custom
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
