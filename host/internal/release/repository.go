package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// repository is the working tree of a git repository.
type repository struct {
	dir string
	log io.Writer // receives the build commands and their output
}

// open returns the repository that contains the directory.
func open(ctx context.Context, dir string, log io.Writer) (repository, error) {
	top, err := repository{dir: dir}.git(ctx, "rev-parse", "--show-toplevel")
	return repository{dir: top, log: log}, err
}

// git runs git and returns its output without trailing newlines.
func (r repository) git(ctx context.Context, args ...string) (string, error) {
	return r.output(ctx, nil, "git", args...)
}

func (r repository) output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), env...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(failure.String()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// build runs a build command and writes its output to the log.
func (r repository) build(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = r.log, r.log
	fmt.Fprintln(r.log, "release:", name, strings.Join(args, " "))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// commitTime returns the time of the current commit.
func (r repository) commitTime(ctx context.Context) (time.Time, error) {
	text, err := r.git(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("git log: time of the commit: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// clone clones the repository into a new directory and checks out the current commit.
func (r repository) clone(ctx context.Context, dir string) (repository, error) {
	commit, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return repository{}, err
	}
	if _, err := r.git(ctx, "clone", "--quiet", "--shared", "--no-checkout", r.dir, dir); err != nil {
		return repository{}, err
	}
	c := repository{dir: dir, log: r.log}
	_, err = c.git(ctx, "checkout", "--quiet", "--detach", commit)
	return c, err
}
