package main

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

var (
	protocolVersion = regexp.MustCompile(`(?m)^const Version = (\d+)$`)
	recordedFrame   = regexp.MustCompile(`testdata/wire/([^:]+)\.json:\s*"hex": "([0-9a-f]+)"`)
)

// checkProtocol returns an error if a frame between readers and connectors has changed
// since the last release, although the protocol version is the same. Peers of the same
// version must be compatible.
func (r repository) checkProtocol(ctx context.Context, version string) error {
	last, err := r.lastBefore(ctx, version)
	if err != nil || last == "" {
		return err
	}
	then, err := r.protocol(ctx, last)
	if err != nil {
		return err
	}
	now, err := r.protocol(ctx, "HEAD")
	if err != nil || then.version != now.version {
		return err
	}
	if changed := then.incompatible(now); len(changed) > 0 {
		return fmt.Errorf("%s has changed since %s, but the version of the protocol is still %s: raise Version in core/wire/frame.go, and record the new one in testdata/skew",
			strings.Join(changed, ", "), last, now.version)
	}
	return nil
}

// lastBefore returns the tag of the highest released version below the given version, or ""
// if there is none.
func (r repository) lastBefore(ctx context.Context, version string) (last string, err error) {
	tags, err := r.git(ctx, "tag", "--list", "v*")
	for _, tag := range strings.Fields(tags) {
		if semver.IsValid(tag) && semver.Compare(tag, version) < 0 && semver.Compare(tag, last) > 0 {
			last = tag
		}
	}
	return last, err
}

// protocol describes the wire protocol that a commit contains.
type protocol struct {
	version string            // empty if the commit has no protocol
	frames  map[string]string // recorded frames between readers and connectors, in hexadecimal, by name
}

func (r repository) protocol(ctx context.Context, commit string) (protocol, error) {
	names, err := r.git(ctx, "ls-tree", "-r", "--name-only", commit, "--", "core/wire/frame.go", "testdata/wire")
	if err != nil || !strings.Contains(names, "core/wire/frame.go") || !strings.Contains(names, "testdata/wire/") {
		return protocol{}, err
	}
	source, err := r.git(ctx, "show", commit+":core/wire/frame.go")
	if err != nil {
		return protocol{}, err
	}
	groups := protocolVersion.FindStringSubmatch(source)
	if groups == nil {
		return protocol{}, fmt.Errorf("core/wire/frame.go of %s has no line that matches %s", commit, protocolVersion)
	}
	lines, err := r.git(ctx, "grep", "-e", `"hex":`, commit, "--", "testdata/wire")
	if err != nil {
		return protocol{}, err
	}
	p := protocol{groups[1], map[string]string{}}
	for _, groups := range recordedFrame.FindAllStringSubmatch(lines, -1) {
		if between(groups[2]) {
			p.frames[groups[1]] = groups[2]
		}
	}
	return p, nil
}

// between reports whether a frame, in hexadecimal, has a type that is sent between
// readers and connectors. The first byte of a frame is its type. The highest bit of
// the type marks frames that a peer may skip.
func between(hex string) bool { return strings.ContainsRune("01289a", rune(hex[0])) }

func optional(hex string) bool { return hex[0] >= '8' }

// incompatible returns the recorded frames whose bytes have changed, and the new frames
// that earlier peers refuse. A new recorded frame of a known type is compatible.
func (p protocol) incompatible(now protocol) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(p.frames)) {
		if now.frames[name] != p.frames[name] {
			names = append(names, path.Join("testdata/wire", name+".json"))
		}
	}
	known := map[string]bool{}
	for _, hex := range p.frames {
		known[hex[:2]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(now.frames)) {
		if hex := now.frames[name]; p.frames[name] == "" && !known[hex[:2]] && !optional(hex) {
			names = append(names, path.Join("testdata/wire", name+".json"))
		}
	}
	return names
}
