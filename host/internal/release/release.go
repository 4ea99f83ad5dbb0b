package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// products are the directories of built files that git ignores, but that go install and go
// get need.
var products = []string{"host/client/module", "host/server/page"}

// author contains the name and email address of the author of release commits. They are
// fixed, so that the commits do not depend on the user who runs the command.
var author = []string{"watchglass", "release@watchglass.invalid"}

// release builds a version, writes its files and creates its tag.
func release(ctx context.Context, o options, stdout, stderr io.Writer) error {
	source, err := open(ctx, o.repository, stderr)
	if err != nil {
		return err
	}
	if err := source.check(ctx, o.version); err != nil {
		return err
	}
	if err := checkOut(o.out); err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "watchglass-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	clone, err := source.clone(ctx, filepath.Join(temp, "watchglass"))
	if err != nil {
		return err
	}
	if err := clone.prepare(ctx, o.version); err != nil {
		return err
	}
	when, err := clone.tag(ctx, o.version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	if err := clone.artifacts(ctx, o, filepath.Join(temp, "bin"), when); err != nil {
		return err
	}
	ref := "refs/tags/" + o.version
	if _, err := source.git(ctx, "fetch", "--quiet", "--no-tags", clone.dir, ref+":"+ref); err != nil {
		return err
	}
	commit, err := source.git(ctx, "rev-parse", ref+"^{commit}")
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s is tagged at %s; its files are in %s\npublish it with: git push origin %s\n", o.version, commit, o.out, o.version)
	return nil
}

// prepare sets the version and builds everything that the release commit contains.
func (r repository) prepare(ctx context.Context, version string) error {
	npm := *r.in("js")
	if err := npm.build(ctx, nil, "npm", "version", "--no-git-tag-version", "--allow-same-version", npmVersion(version)); err != nil {
		return err
	}
	if err := r.setVersion(version); err != nil {
		return err
	}
	return r.build(ctx, hermetic(), "make", "embedded")
}

// chart is the directory of the Helm chart.
const chart = "examples/deploy/chart"

// versioned lists the lines that contain the version, in files outside of js.
var versioned = []struct {
	file string
	line *regexp.Regexp // its first group matches the text before the version
	text func(version string) string
}{
	{chart + "/Chart.yaml", regexp.MustCompile(`(?m)^(version: ).*$`), npmVersion},
	{chart + "/Chart.yaml", regexp.MustCompile(`(?m)^(appVersion: ).*$`), strings.Clone},
	{"examples/deploy/base/deployment.yaml", regexp.MustCompile(`(?m)^( +image: \S+:).*$`), strings.Clone},
}

// setVersion writes the version to the lines that versioned lists.
func (r repository) setVersion(version string) error {
	for _, v := range versioned {
		path := filepath.Join(r.dir, v.file)
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := len(v.line.FindAll(content, -1)); n != 1 {
			return fmt.Errorf("%s has %d lines that match %s, expected one", v.file, n, v.line)
		}
		if err := os.WriteFile(path, v.line.ReplaceAll(content, []byte("${1}"+v.text(version))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// in returns a copy of r that runs commands in a subdirectory.
func (r repository) in(dir string) *repository {
	return &repository{dir: filepath.Join(r.dir, dir), log: r.log}
}

// hermetic returns environment variables for commands whose output must not depend on the
// caller's environment. The variables also keep the commit ID out of the module and the
// page, so that these change only with their sources.
func hermetic() []string { return []string{"GOFLAGS=-buildvcs=false", "GOWORK=off", "GOEXPERIMENT="} }

// tag commits the products and the changed version on top of the current commit. It tags
// the new commit and returns the commit time.
func (r repository) tag(ctx context.Context, version string) (time.Time, error) {
	when, err := r.commitTime(ctx)
	if err != nil {
		return time.Time{}, err
	}
	parent, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return time.Time{}, err
	}
	stamp := when.Format(time.RFC3339)
	env := []string{
		"GIT_AUTHOR_NAME=" + author[0], "GIT_AUTHOR_EMAIL=" + author[1], "GIT_AUTHOR_DATE=" + stamp,
		"GIT_COMMITTER_NAME=" + author[0], "GIT_COMMITTER_EMAIL=" + author[1], "GIT_COMMITTER_DATE=" + stamp,
	}
	commands := [][]string{
		append([]string{"add", "--force", "--"}, products...),
		{"add", "--update"},
		{"commit", "--quiet", "--no-verify", "--no-gpg-sign", "--message", "release: add the build products of " + version + "\n\nSource: " + parent},
		{"tag", "--annotate", "--no-sign", "--message", "watchglass " + version, version},
	}
	for _, args := range commands {
		if _, err := r.output(ctx, env, "git", args...); err != nil {
			return time.Time{}, err
		}
	}
	return when, nil
}
