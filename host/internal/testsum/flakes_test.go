package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scripted returns a unit whose successive runs have the given results. After the last run,
// the unit starts over.
func scripted(name string, runs ...[]result) unit {
	n := 0
	return unit{name, func(_ context.Context, messages io.Writer, each func(result)) error {
		run := runs[n%len(runs)]
		n++
		var err error
		for _, r := range run {
			if each(r); r.outcome == failed {
				err = errors.New("exit status 1")
			}
		}
		return err
	}}
}

func newFlakes(t *testing.T) (*flakes, *bytes.Buffer) {
	var out bytes.Buffer
	return &flakes{dir: t.TempDir(), out: &out, tests: map[testID]int{}}, &out
}

func lastLines(out *bytes.Buffer, n int) []string {
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[max(0, len(lines)-n):]
}

func TestEveryTestThatFailedOnceHasALine(t *testing.T) {
	f, out := newFlakes(t)
	good := []result{{test: "TestA"}, {test: "TestB"}, {test: "TestB/sub"}, {}}
	bad := []result{{test: "TestA"}, {test: "TestB/sub", outcome: failed, output: "cause\n"}, {test: "TestB", outcome: failed, output: "--- FAIL\n"}, {outcome: failed}}
	require.NoError(t, f.repeat(t.Context(), scripted("host/x", good, bad, good), 6))
	require.NoError(t, f.repeat(t.Context(), scripted("host/y", []result{{test: "TestC"}, {}}), 6))
	require.Equal(t, 1, f.summary(false))
	file := filepath.Join(f.dir, "host_x_TestB_sub.txt")
	require.Equal(t, []string{
		"FLAKY host/x TestB/sub: failed in 2 of 6 runs; output: " + file,
		"flakes: 12 runs, 4 tests, 1 flaky",
	}, lastLines(out, 2))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "== host/x TestB/sub, run 2\ncause\n\n== host/x TestB/sub, run 5\ncause\n\n", string(text))
}

func TestSummaryWithoutFlakyTestsIsZero(t *testing.T) {
	f, out := newFlakes(t)
	require.NoError(t, f.repeat(t.Context(), scripted("host/y", []result{{test: "TestC"}, {}}), 3))
	require.Zero(t, f.summary(false))
	require.Equal(t, []string{"flakes: 3 runs, 1 tests, 0 flaky"}, lastLines(out, 1))
}

func TestUnitThatFailsWithoutATestIsFlaky(t *testing.T) {
	f, out := newFlakes(t)
	crash := unit{"host/z", func(_ context.Context, messages io.Writer, _ func(result)) error {
		fmt.Fprintln(messages, "fatal error: no memory")
		return errors.New("exit status 2")
	}}
	require.NoError(t, f.repeat(t.Context(), crash, 2))
	require.Equal(t, 1, f.summary(false))
	require.Equal(t, "flakes: 2 runs, 0 tests, 1 flaky", lastLines(out, 1)[0])
	text, err := os.ReadFile(filepath.Join(f.dir, "host_z.txt"))
	require.NoError(t, err)
	require.Contains(t, string(text), "fatal error: no memory\nexit status 2\n")
}

func TestInterruptEndsTheRunsAndDropsTheUnfinishedOne(t *testing.T) {
	f, out := newFlakes(t)
	ctx, interrupt := context.WithCancel(t.Context())
	runs := 0
	u := unit{"host/x", func(ctx context.Context, _ io.Writer, each func(result)) error {
		if runs++; runs == 3 {
			interrupt()
			each(result{test: "TestA", outcome: failed})
			return ctx.Err()
		}
		each(result{test: "TestA"})
		return nil
	}}
	require.NoError(t, f.repeat(ctx, u, 10))
	require.Equal(t, 1, f.summary(true))
	require.Equal(t, []string{
		"flakes: interrupted, the figures cover the completed runs",
		"flakes: 2 runs, 1 tests, 0 flaky",
	}, lastLines(out, 2))
}

// TestJobsRunUnitsBesideEachOther runs two units that wait for each other, so that they
// end only if they run in parallel. Three further units follow, so that there are more
// units than jobs.
func TestJobsRunUnitsBesideEachOther(t *testing.T) {
	f, out := newFlakes(t)
	meet := make(chan struct{})
	meets := func(name string) unit {
		return unit{name, func(ctx context.Context, _ io.Writer, each func(result)) error {
			select {
			case meet <- struct{}{}:
			case <-meet:
			case <-ctx.Done():
			}
			each(result{test: "TestMeets"})
			return nil
		}}
	}
	alone := func(name string) unit { return scripted(name, []result{{test: "TestC"}}) }
	units := []unit{meets("host/x"), meets("host/y"), alone("host/a"), alone("host/b"), alone("host/c")}
	require.NoError(t, f.repeatAll(t.Context(), units, 10, 2))
	require.Zero(t, f.summary(false))
	require.Equal(t, "flakes: 50 runs, 5 tests, 0 flaky", lastLines(out, 1)[0])
}

// TestUnitsOfBothKinds runs the tests of a Go package and of a Node file. Both count their
// runs in a file, and fail in every other run.
func TestUnitsOfBothKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles a package")
	}
	dir := t.TempDir()
	files := map[string]string{
		"go.mod": "module example.com/flaky\n\ngo 1.26.0\n",
		"flaky_test.go": `package flaky

import (
	"os"
	"testing"
)

func TestEveryOther(t *testing.T) {
	t.Run("part", func(t *testing.T) {
		runs, _ := os.ReadFile("runs")
		if err := os.WriteFile("runs", append(runs, '.'), 0o600); err != nil {
			t.Fatal(err)
		}
		if len(runs)%2 == 1 {
			t.Fatal("an odd run")
		}
	})
}

func TestNever(*testing.T) {}
`,
		"flaky.test.mjs": `import { appendFileSync, statSync } from "node:fs";
import { test } from "node:test";
const file = new URL("node-runs", import.meta.url);
test("every other", async (t) => {
  await t.test("part", () => {
    appendFileSync(file, ".");
    console.log("printed");
    if (statSync(file).size % 2 === 0) throw new Error("an even run");
  });
});
test("skipped", { skip: "a reason" }, () => {});
`,
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	f, out := newFlakes(t)
	u := goUnit("example.com/flaky", dir, filepath.Join(dir, "flaky.test"))
	require.NoError(t, f.repeat(t.Context(), u, 4))
	node := nodeUnit(filepath.Join(dir, "flaky.test.mjs"), "./reporter.mjs", time.Hour)
	require.NoError(t, f.repeat(t.Context(), node, 4))
	require.Equal(t, 1, f.summary(false))
	lines := lastLines(out, 3)
	require.Contains(t, lines[0], "FLAKY example.com/flaky TestEveryOther/part: failed in 2 of 4 runs; output: ")
	require.Contains(t, lines[1], "flaky.test.mjs every other > part: failed in 2 of 4 runs; output: ")
	require.Equal(t, "flakes: 8 runs, 6 tests, 2 flaky", lines[2])
	text, err := os.ReadFile(f.path(testID{"example.com/flaky", "TestEveryOther/part"}))
	require.NoError(t, err)
	require.Contains(t, string(text), "an odd run")
	text, err = os.ReadFile(f.path(testID{node.name, "every other > part"}))
	require.NoError(t, err)
	require.Contains(t, string(text), "an even run")
}

// TestFileThatHangsEndsWithItsProcesses runs a Node test file that starts a process and
// hangs. Node waits for that process, because it has inherited the standard output of the
// file. The process holds a connection to the test, which closes when the process ends.
func TestFileThatHangsEndsWithItsProcesses(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	hangs := filepath.Join(t.TempDir(), "hangs.test.mjs")
	require.NoError(t, os.WriteFile(hangs, fmt.Appendf(nil, `import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
test("good", () => {});
test("group", async (t) => {
  await t.test("hangs", async () => {
    const ready = createServer().listen(0);
    await once(ready, "listening");
    const code = `+"`"+`const { connect } = require("node:net"); connect(%d, "127.0.0.1", () => connect(${ready.address().port}))`+"`"+`;
    spawn(process.execPath, ["-e", code], { stdio: "inherit" });
    await once(ready, "connection");
    console.log("the process is connected");
    await new Promise(() => {});
  });
});
`, listener.Addr().(*net.TCPAddr).Port), 0o600))

	var results []result
	for limit := 4 * time.Second; ; limit *= 2 { // on a slow machine, the file may need more time to start its process
		results = nil
		err = nodeUnit(hangs, "./reporter.mjs", limit).run(t.Context(), io.Discard, func(r result) { results = append(results, r) })
		require.ErrorContains(t, err, "hangs.test.mjs did not end within "+limit.String())
		if n := len(results); n > 0 && strings.Contains(results[n-1].output, "the process is connected") {
			break
		}
	}
	require.Len(t, results, 4)
	for i, want := range []result{{test: "good"}, {test: "group", outcome: failed}, {test: "hangs", outcome: failed}, {outcome: failed}} {
		require.Equal(t, []any{want.test, want.outcome}, []any{results[i].test, results[i].outcome})
	}
	conn, err := listener.Accept()
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}

// TestInterruptEndsAllProcesses interrupts the program while a Node test hangs. The Node
// test holds a connection, and all processes of the program hold a pipe. The connection
// and the pipe close when these processes have ended.
func TestInterruptEndsAllProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles the program")
	}
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	hangs := filepath.Join(dir, "hangs.test.mjs")
	require.NoError(t, os.WriteFile(hangs, fmt.Appendf(nil, `import { connect } from "node:net";
import { test } from "node:test";
test("hangs", () => new Promise(() => connect(%d, "127.0.0.1")));
`, listener.Addr().(*net.TCPAddr).Port), 0o600))
	program := filepath.Join(dir, "testsum")
	text, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(text))
	held, write, err := os.Pipe()
	require.NoError(t, err)
	defer held.Close()
	var out bytes.Buffer
	flakes := exec.CommandContext(t.Context(), program, "-flakes", "-count=1", "-load=2", hangs)
	flakes.Dir, flakes.ExtraFiles, flakes.Stdout, flakes.Stderr = dir, []*os.File{write}, &out, &out
	require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(reporter)), 0o755))
	script, err := os.ReadFile("reporter.mjs")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, reporter), script, 0o600))
	require.NoError(t, flakes.Start())
	require.NoError(t, write.Close())
	conn, err := listener.Accept()
	require.NoError(t, err)
	defer conn.Close()

	require.NoError(t, flakes.Process.Signal(os.Interrupt))
	require.Error(t, flakes.Wait())
	require.Equal(t, 1, flakes.ProcessState.ExitCode(), out.String())
	require.Contains(t, out.String(), "flakes: 0 runs, 0 tests, 0 flaky\n")
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = held.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}
