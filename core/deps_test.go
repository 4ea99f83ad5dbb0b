package core_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/watchglass/watchglass/"

// pkg is a package in the output of go list.
type pkg struct {
	ImportPath string
	Dir        string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// list returns the packages of this module that match the patterns, and all of their
// dependencies, keyed by path. Imports of tests are not included.
func list(t *testing.T, environment []string, patterns ...string) map[string]pkg {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,Imports,Deps"}, patterns...)...)
	command.Dir = ".."
	command.Env = append(os.Environ(), environment...)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	all := map[string]pkg{}
	for lines := json.NewDecoder(out); ; {
		var p pkg
		err := lines.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		all[p.ImportPath] = p
	}
	require.NoError(t, command.Wait())
	return all
}

// ours returns the imports that belong to this module, without the module path.
func ours(imports []string) []string {
	var kept []string
	for _, i := range imports {
		if path, ok := strings.CutPrefix(i, module); ok {
			kept = append(kept, path)
		}
	}
	return kept
}

// isCore reports whether a package is part of the engine. The packages coretest and sim are
// for tests, and the dictionaries of package skeleton are for servers.
func isCore(path string) bool {
	return (path == "core" || strings.HasPrefix(path, "core/")) &&
		!strings.HasPrefix(path, "core/coretest") && !strings.HasPrefix(path, "core/sim") && path != "core/body/skeleton"
}

// layers returns the packages of this module that each package of the engine may import.
// These are the packages of lower layers, and individual packages of the same layer.
func layers() map[string][]string {
	leaf := []string{"core/api", "core/internal/lite"}
	words := append(slices.Clone(leaf), "core/selector", "core/objectjson", "core/wire")
	stores := append(slices.Clone(words), "core/store", "core/history", "core/watcher")
	keepers := append(slices.Clone(stores), "core/delta", "core/dispatch", "core/cacher")
	return map[string][]string{
		"core/api":           {"core/internal/lite"},
		"core/internal/lite": nil,
		"core/catalog":       append(slices.Clone(leaf), "core/objectjson"), // its printers read objects
		"core/body":          leaf,
		"core/selector":      leaf,
		"core/objectjson":    append(slices.Clone(leaf), "core/wire"), // it produces the types of wire
		"core/wire":          leaf,
		"core/query":         words, // it reads envelopes, and reports errors as selectors do
		"core/store":         words,
		"core/history":       append(slices.Clone(words), "core/store"),                 // events refer to stored versions
		"core/watcher":       append(slices.Clone(words), "core/store", "core/history"), // watches read events
		"core/dispatch":      stores,
		"core/delta":         stores,
		"core/cacher":        append(slices.Clone(stores), "core/delta", "core/dispatch"),
		"core/view":          append(slices.Clone(keepers), "core/query"),                // views read cachers
		"core/join":          append(slices.Clone(keepers), "core/query", "core/owners"), // it counts the objects of owners
		"core/reflector":     keepers,
		"core/owners":        keepers,
		"core/kubewatch":     append(slices.Clone(words), "core/catalog"),
		"core/objcache":      keepers,
		"core/session":       keepers,
		"core/persist":       append(slices.Clone(keepers), "core/reflector", "core/session"), // it writes with session and reads with reflector
		"core": append(slices.Clone(keepers),
			"core/catalog", "core/view", "core/owners", "core/join", "core/reflector", "core/kubewatch", "core/objcache", "core/session", "core/persist"),
	}
}

func TestImportsBetweenLayers(t *testing.T) {
	allowed := layers()
	for path, p := range list(t, nil, "./core/...") {
		path, mine := strings.CutPrefix(path, module)
		if !mine || !isCore(path) {
			continue
		}
		room, known := allowed[path]
		if !known {
			t.Errorf("%s is not in the layout: add it to layers", path)
		}
		for _, i := range ours(p.Imports) {
			if !slices.Contains(room, i) {
				t.Errorf("%s imports %s, which is above it or beside it", path, i)
			}
		}
	}
}

// forbidden lists packages that would give the engine I/O, clocks or randomness.
var forbidden = []string{"os", "net", "time", "context", "sync", "math/rand", "math/rand/v2", "fmt", "reflect", "encoding/json"}

func TestImportsOfTheEngineHaveNoIOOrClock(t *testing.T) {
	all := list(t, nil, "./core")
	for path, p := range all {
		if !p.Standard {
			for _, i := range p.Imports {
				if slices.Contains(forbidden, i) {
					t.Errorf("%s imports %s", path, i)
				}
			}
		}
	}
	// These packages are large, so indirect imports are not allowed either.
	for _, heavy := range []string{"fmt", "encoding/json", "os", "net", "context", "time"} {
		if _, there := all[heavy]; there {
			t.Errorf("core needs %s, by way of %s", heavy, detour(all, heavy))
		}
	}
	for path := range all {
		if strings.Contains(path, ".") && !strings.HasPrefix(path, module) {
			t.Errorf("core needs %s, which is neither ours nor of the standard library", path)
		}
	}
}

// detour returns the packages that import target directly.
func detour(all map[string]pkg, target string) string {
	var names []string
	for path, p := range all {
		if slices.Contains(p.Imports, target) {
			names = append(names, path)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func TestEngineStartsNoGoroutineAndOpensNoChannel(t *testing.T) {
	for path, p := range list(t, nil, "./core/...") {
		if mine, ok := strings.CutPrefix(path, module); !ok || !isCore(mine) {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				switch n.(type) {
				case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
					t.Errorf("%s: the engine has no goroutines and no channels", files.Position(n.Pos()))
				}
				return true
			})
		}
	}
}

func TestImportsOfTheGuest(t *testing.T) {
	all := list(t, []string{"GOOS=wasip1", "GOARCH=wasm"}, "./wasm/guest")
	for path, p := range all {
		path, mine := strings.CutPrefix(path, module)
		if mine && !isCore(path) && path != "wasm/guest" {
			t.Errorf("the guest needs %s, by way of %s", path, detour(all, module+path))
		}
		if mine && slices.Contains(p.Imports, "encoding/json") {
			t.Errorf("%s imports encoding/json, which the guest cannot afford", path)
		}
	}
}

// The client imports no part of the engine except api and wire. The server packages need no
// wazero, and the packages server and metrics need no client-go.
func TestImportsOfTheHost(t *testing.T) {
	const wazero = "github.com/tetratelabs/wazero"
	for path, p := range list(t, nil, "./host/...") {
		path, mine := strings.CutPrefix(path, module)
		if !mine {
			continue
		}
		if path == "host/client" {
			for _, i := range ours(p.Imports) {
				if isCore(i) && i != "core/wire" && i != "core/api" {
					t.Errorf("%s imports %s: it drives the module and has no engine of its own", path, i)
				}
			}
		}
		for _, room := range []string{"host/connector", "host/source", "host/server", "host/kubeapi"} {
			if path == room || strings.HasPrefix(path, room+"/") {
				for _, d := range p.Deps {
					if d == wazero || strings.HasPrefix(d, wazero+"/") {
						t.Errorf("%s needs wazero", path)
					}
				}
			}
		}
		if path == "host/server" || path == "host/metrics" {
			for _, d := range p.Deps {
				if strings.HasPrefix(d, "k8s.io/client-go/") {
					t.Errorf("%s needs %s, which takes a minute to build with the race detector", path, d)
					break
				}
			}
		}
	}
}

// protowire lists the packages that decode protobuf fields without generated messages
// or reflection.
var protowire = []string{
	"google.golang.org/protobuf/encoding/protowire", "google.golang.org/protobuf/internal/errors", "google.golang.org/protobuf/internal/detrand",
}

// The Kubernetes API also runs at the edge, where the only other host packages are
// those that authorize reads.
func TestImportsOfTheKubernetesAPI(t *testing.T) {
	all := list(t, []string{"GOOS=js", "GOARCH=wasm"}, "./host/kubeapi")
	for path, p := range all {
		mine, ok := strings.CutPrefix(path, module)
		switch {
		case ok && !isCore(mine) && !slices.Contains([]string{"host/kubeapi", "host/access", "host/limit"}, mine) && !strings.HasPrefix(mine, "host/internal/"):
			t.Errorf("host/kubeapi needs %s, by way of %s", mine, detour(all, path))
		case !ok && !p.Standard && !slices.Contains(protowire, path):
			t.Errorf("host/kubeapi needs %s, which is neither ours nor of the standard library", path)
		}
	}
}

// The HTTP worker of the edge must stay small, so it imports only the Kubernetes API and
// the few packages listed here.
func TestImportsOfTheEdge(t *testing.T) {
	light := []string{"host/kubeapi", "host/access", "host/access/token", "host/limit", "host/edge", "host/source", "wasm/edge"}
	theirs := append([]string{"github.com/golang-jwt/jwt/v5", "github.com/syumai/workers", "golang.org/x/sync/errgroup"}, protowire...)
	all := list(t, []string{"GOOS=js", "GOARCH=wasm"}, "./wasm/edge")
	for path, p := range all {
		mine, ok := strings.CutPrefix(path, module)
		switch {
		case ok && !isCore(mine) && !slices.Contains(light, mine) && !strings.HasPrefix(mine, "host/internal/"):
			t.Errorf("wasm/edge needs %s, by way of %s", mine, detour(all, path))
		case !ok && !p.Standard && !slices.ContainsFunc(theirs, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }):
			t.Errorf("wasm/edge needs %s, by way of %s", path, detour(all, path))
		}
	}
	for _, heavy := range []string{"regexp", "text/template", "html/template", "go/token"} {
		if _, there := all[heavy]; there {
			t.Errorf("wasm/edge needs %s, by way of %s", heavy, detour(all, heavy))
		}
	}
}
