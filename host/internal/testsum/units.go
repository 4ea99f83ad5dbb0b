package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// timeout is the maximum duration of the tests of a package, and of a file of Node tests. It
// exceeds the default of go test, 10 minutes, because the machine may be slow or busy.
const timeout = 20 * time.Minute

// findUnits returns the units that the patterns select. A pattern is the path of a
// file of Node tests, or a pattern for Go packages. Without patterns, findUnits
// returns all files and packages with tests.
func findUnits(ctx context.Context, scratch string, patterns []string) ([]unit, error) {
	var packages, files []string
	for _, p := range patterns {
		if strings.HasSuffix(p, ".js") || strings.HasSuffix(p, ".mjs") {
			files = append(files, p)
		} else {
			packages = append(packages, p)
		}
	}
	if len(patterns) == 0 {
		npm, examples, err := nodeFiles()
		if err != nil {
			return nil, err
		}
		packages, files = []string{"./..."}, slices.Concat(npm, examples)
	}
	var units []unit
	if len(packages) > 0 {
		found, err := goUnits(ctx, scratch, packages)
		if err != nil {
			return nil, err
		}
		units = found
	}
	for _, file := range files {
		units = append(units, nodeUnit(file, reporter, timeout))
	}
	if len(units) == 0 {
		return nil, fmt.Errorf("%s: no package or file has tests", strings.Join(patterns, " "))
	}
	return units, nil
}

// goUnits returns a unit for each package that has tests.
func goUnits(ctx context.Context, scratch string, patterns []string) ([]unit, error) {
	const format = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}"
	out, err := exec.CommandContext(ctx, "go", append([]string{"list", "-f", format}, patterns...)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list: %s", exit.Stderr)
	}
	if err != nil {
		return nil, err
	}
	var units []unit
	for line := range strings.Lines(string(out)) {
		if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			units = append(units, goUnit(name, dir, filepath.Join(scratch, fmt.Sprint(len(units), ".test"))))
		}
	}
	return units, nil
}

// goUnit returns a unit that runs the tests of a package. The unit compiles the tests
// before its first run.
func goUnit(name, dir, binary string) unit {
	compiled := false
	return unit{name, func(ctx context.Context, messages io.Writer, each func(result)) error {
		if !compiled {
			build := command(ctx, "go", "test", "-c", "-o", binary, name)
			build.Dir = dir
			if text, err := build.CombinedOutput(); err != nil {
				return fmt.Errorf("%s does not compile: %w\n%s", name, err, text)
			}
			compiled = true
		}
		test := command(ctx, binary, "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+timeout.String())
		test.Dir = dir
		return pipe(ctx, test, messages, func(out io.Reader, messages io.Writer, each func(result)) error {
			// test2json does not use ctx, because it exits when the test closes its output.
			convert := exec.Command("go", "tool", "test2json", "-t", "-p", name)
			convert.Stdin = out
			return pipe(context.WithoutCancel(ctx), convert, messages, readGo, each)
		}, each)
	}}
}

// nodeUnit returns a unit that runs a file of Node tests. After the time limit, the unit
// kills the process of the file and all processes that it has started. The time limit of Node
// would end only the process of the file. Node would then wait for other processes that have its
// standard output open.
func nodeUnit(file, reporter string, limit time.Duration) unit {
	return unit{file, func(ctx context.Context, messages io.Writer, each func(result)) error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := pipe(limited, command(limited, "node", "--test", "--test-reporter="+reporter, file), messages, readNode, each)
		if limited.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("%s did not end within %s", file, limit)
		}
		return err
	}}
}
