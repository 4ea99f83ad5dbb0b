package strip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// linked returns the test program as the linker wrote it.
func linked(t *testing.T) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: builds a wasm module first")
	}
	file, err := link()
	require.NoError(t, err)
	return bytes.Clone(file)
}

// recognized returns the same module as linked. It skips the test if this Go release is
// newer than the known ones. A build with such a release ships the unmodified output of
// the linker.
func recognized(t *testing.T) []byte {
	t.Helper()
	file := linked(t)
	m, err := parse(file)
	require.NoError(t, err)
	release, err := m.goRelease()
	require.NoError(t, err)
	if _, ok := layoutOf(release); !ok {
		t.Skipf("the runtime tables of %s are not known: modules stay as they are linked", release)
	}
	return file
}

var link = sync.OnceValues(func() ([]byte, error) { return linkOf("./testdata/program") })

func linkOf(program string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "strip")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "program.wasm")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, program)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return os.ReadFile(path)
}

// program is a compiled module that can be run repeatedly.
type program struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

func compile(t *testing.T, file []byte) program {
	t.Helper()
	ctx := context.Background()
	// The program fills all available memory, so it needs a limit.
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(4096))
	t.Cleanup(func() { require.NoError(t, r.Close(ctx)) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	compiled, err := r.CompileModule(ctx, file)
	require.NoError(t, err)
	return program{r, compiled}
}

func (p program) run(t *testing.T, environment map[string]string, argument string) (stdout, stderr string, code uint32) {
	t.Helper()
	var out, errs bytes.Buffer
	config := wazero.NewModuleConfig().WithName("").WithArgs("program", argument).WithStdout(&out).WithStderr(&errs).
		WithSysNanotime().WithSysWalltime().WithSysNanosleep()
	for name, value := range environment {
		config = config.WithEnv(name, value)
	}
	m, err := p.runtime.InstantiateModule(context.Background(), p.compiled, config)
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		require.NoError(t, err, errs.String())
		require.NoError(t, m.Close(context.Background()))
	}
	return out.String(), errs.String(), code
}

func TestAStrippedModule(t *testing.T) {
	file := recognized(t)
	small, err := Module(file)
	require.NoError(t, err)
	require.Less(t, len(small), len(file)*75/100)
	before, after := compile(t, file), compile(t, small)

	check := map[string]string{"GODEBUG": "gccheckmark=1,clobberfree=1"}
	for name, environment := range map[string]map[string]string{"recover": nil, "collect": check, "goroutines": check, "find": nil} {
		t.Run("does what it did: "+name, func(t *testing.T) {
			want, _, _ := before.run(t, nil, name)
			got, errs, code := after.run(t, environment, name)
			require.Zero(t, code, errs)
			require.Equal(t, want, got)
			require.NotEmpty(t, got)
		})
	}
	t.Run("resumes only where it is known to", func(t *testing.T) {
		trapUnused = true
		defer func() { trapUnused = false }()
		trapping, err := Module(file)
		require.NoError(t, err)
		strict := compile(t, trapping)
		for _, name := range []string{"recover", "goroutines"} {
			want, _, _ := before.run(t, nil, name)
			got, errs, code := strict.run(t, nil, name)
			require.Zero(t, code, errs)
			require.Equal(t, want, got)
		}
	})
	for name, word := range map[string]string{
		"panic":    "panic: value method main.value.Name called using nil *value pointer",
		"overflow": "stack overflow",
		"deadlock": "all goroutines are asleep - deadlock!",
		"memory":   "out of memory",
	} {
		t.Run("dies as it did: "+name, func(t *testing.T) {
			_, want, wantCode := before.run(t, nil, name)
			_, got, code := after.run(t, nil, name)
			require.Equal(t, wantCode, code, got)
			require.Equal(t, uint32(2), code)
			require.Contains(t, want, word)
			require.Contains(t, got, word)
			require.Contains(t, want, "program/main.go")
			require.NotContains(t, got, "main.go")
		})
	}
	// The runtime recognizes its own goroutines by the name of a function. The runtime's
	// own goroutines do not count as goroutines of a program, for example in a deadlock.
	t.Run("knows its own goroutines", func(t *testing.T) {
		_, errs, _ := after.run(t, nil, "deadlock")
		require.Equal(t, 2, strings.Count(errs, "\ngoroutine "), errs)
	})
}

// The vector code of each replaced function appears once in the stripped module, and not
// in the linker's output.
func TestFunctionsGetTheirVectors(t *testing.T) {
	file := recognized(t)
	small, err := Module(file)
	require.NoError(t, err)
	for name, code := range vectorized {
		require.Zero(t, bytes.Count(file, code), name)
		require.Equal(t, 1, bytes.Count(small, code), name)
	}
}

func TestMissingFunctionFailsTheBuild(t *testing.T) {
	file := recognized(t)
	_, err := Module(file, GuestFunctions...)
	require.NoError(t, err)
	for _, name := range GuestFunctions {
		// Zero bytes delimit the linker's names, so the search does not match part of a
		// longer name.
		renamed := bytes.Replace(file, []byte("\x00"+name+"\x00"), []byte("\x00"+name[:len(name)-1]+"_\x00"), 1)
		require.NotEqual(t, file, renamed)
		_, err := Module(renamed, GuestFunctions...)
		require.ErrorContains(t, err, "the module has 0 functions named "+name+", expected one")
		_, err = Module(renamed)
		require.NoError(t, err, "no function is required")

		path := write(t, renamed)
		_, err = File(path, path, GuestFunctions...)
		require.ErrorContains(t, err, name, "a build must not drop the vectors silently")
	}
}

func write(t *testing.T, file []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "linked.wasm")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return path
}

// ofRelease returns a copy of a module that claims to be built by another Go release. It
// pads the release to the length of the old one, so that the producers section keeps its
// size.
func ofRelease(t *testing.T, file []byte, release string) []byte {
	t.Helper()
	m, err := parse(file)
	require.NoError(t, err)
	was, err := m.goRelease()
	require.NoError(t, err)
	release += strings.Repeat("0", len(was)-len(release))
	return bytes.Replace(file, append([]byte{byte(len(was))}, was...), append([]byte{byte(len(was))}, release...), 1)
}

func TestModuleOfAnUnknownReleaseIsShippedAsLinked(t *testing.T) {
	file := ofRelease(t, linked(t), "go1.99.")
	from := write(t, file)
	to := filepath.Join(t.TempDir(), "small.wasm")
	warning, err := File(from, to, GuestFunctions...)
	require.NoError(t, err)
	require.Contains(t, warning, "the runtime tables of go1.99.")
	require.Contains(t, warning, "the known releases are "+knownReleases())
	require.Contains(t, warning, fmt.Sprintf("the linker's output of %d bytes, unmodified: stripped it would have about %d bytes less", len(file), len(file)*37/100))
	require.NotContains(t, warning, "\n", "a build prints one line")
	shipped, err := os.ReadFile(to)
	require.NoError(t, err)
	require.True(t, bytes.Equal(file, shipped))
}

func TestUnrecognizedTablesDoNotFailTheBuild(t *testing.T) {
	file := recognized(t)
	small, err := Module(file)
	require.NoError(t, err)
	for reason, file := range map[string][]byte{
		"the magic number f1ffffff00000108 is not there once": bytes.Replace(file, magic, []byte("\xf0\xff\xff\xff\x00\x00\x01\x08"), 1),
		"was it stripped before?":                             small,
		"does not name the Go release that built it":          bytes.Replace(file, []byte("\x09producers"), []byte("\x09publicans"), 1),
	} {
		_, err := Module(file)
		require.ErrorAs(t, err, new(*Unrecognized))
		require.ErrorContains(t, err, reason)
		path := write(t, file)
		warning, err := File(path, path)
		require.NoError(t, err)
		require.Contains(t, warning, reason)
	}
}

func TestFileThatIsNotAModuleIsRefused(t *testing.T) {
	file := linked(t)
	for _, c := range []struct {
		file   []byte
		reason string
	}{
		{nil, "not a WebAssembly module"},
		{file[:8], "the module has no data"},
		{file[:len(file)/2], "truncated"},
	} {
		path := write(t, c.file)
		_, err := File(path, path)
		require.ErrorContains(t, err, c.reason)
	}
}

// A module with damaged tables is rejected, or converted to another one, but never
// causes a panic.
func TestDamagedModuleDoesNotPanic(t *testing.T) {
	file := recognized(t)
	m, err := parse(file)
	require.NoError(t, err)
	found, err := find(m)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 40 {
		m, err := parse(file)
		require.NoError(t, err)
		start := found.Names.Data - 72 // 72 is the size of the header
		if random.IntN(2) == 0 {
			start = found.PCs.Data
		}
		for range 1 + random.IntN(4) {
			m.memory[start+random.Uint64N(min(found.End-start, 1<<random.IntN(20)+1))] = byte(random.Uint32())
		}
		if _, err := Module(m.encode()); err != nil {
			refused++
		}
	}
	require.NotZero(t, refused)
}

// A forged count that exceeds its section causes an error, not a long loop.
func TestCountBeyondSection(t *testing.T) {
	many := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	for _, section := range [][]byte{many, section10(many)} {
		_, err := branchForward(section)
		require.ErrorContains(t, err, "truncated")
	}
	_, err := fill(many)
	require.ErrorContains(t, err, "truncated")
	for _, fields := range [][]byte{many, append([]byte{1, 0}, many...)} {
		m := &module{sections: []section{{customSection, append([]byte("\x09producers"), fields...)}}}
		_, err := m.goRelease()
		require.ErrorContains(t, err, "does not name the Go release that built it")
	}
}

func TestMemoryIsUnchanged(t *testing.T) {
	file := linked(t)
	m, err := parse(file)
	require.NoError(t, err)
	again, err := parse(m.encode())
	require.NoError(t, err)
	require.True(t, bytes.Equal(m.memory, again.memory))
	require.Len(t, again.sections, len(m.sections))
	for i, s := range m.sections {
		if s.id != dataSection {
			require.True(t, bytes.Equal(s.content, again.sections[i].content))
		}
	}
}
