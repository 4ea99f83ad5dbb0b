package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/semver"
)

// checkVersion returns an error for a version that Go, npm or an image registry would
// reject.
func checkVersion(version string) error {
	switch {
	case !semver.IsValid(version):
		return fmt.Errorf("version %q is not semantic, expected vMAJOR.MINOR.PATCH as in v0.2.0", version)
	case semver.Canonical(version) != version:
		return fmt.Errorf("version %q must be complete and without build metadata, expected %s", version, semver.Canonical(version))
	case semver.Major(version) != "v0" && semver.Major(version) != "v1":
		return fmt.Errorf("version %q needs the module path to end in /%s: change go.mod and every import first", version, semver.Major(version))
	}
	return nil
}

// check returns an error if the version cannot be released from the current commit.
func (r repository) check(ctx context.Context, version string) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	changes, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the working tree has changes: commit or remove them first:\n%s", changes)
	}
	tags, err := r.git(ctx, "tag", "--list", version)
	if err != nil {
		return err
	}
	if tags != "" {
		return fmt.Errorf("tag %s exists: a released version never changes, choose the next one", version)
	}
	return r.checkProtocol(ctx, version)
}

// checkOut returns nil if the output directory is missing or empty, and an error otherwise.
func checkOut(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s contains %s: give a directory that is missing or empty", dir, entries[0].Name())
	}
	return nil
}

// npmVersion returns the version in npm's format, which has no leading "v".
func npmVersion(version string) string { return strings.TrimPrefix(version, "v") }
