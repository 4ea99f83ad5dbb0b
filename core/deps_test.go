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

// pkg is what go list says of a package.
type pkg struct {
	ImportPath string
	Dir        string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// list returns our packages that match, and all that they depend on, by path.
// Their tests may import what they like.
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

// ours keeps the imports of this module, without its name.
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

// rooms says what each room may import of ours. The layers above may skip
// layers, and no room may look sideways, but for the exceptions that stand here.
func rooms() map[string][]string {
	leaf := []string{"core/api", "core/internal/lite"}
	words := append(slices.Clone(leaf), "core/selector", "core/objectjson", "core/wire")
	stores := append(slices.Clone(words), "core/store", "core/history", "core/watcher")
	keepers := append(slices.Clone(stores), "core/cacher")
	return map[string][]string{
		"core/api":           {"core/internal/lite"},
		"core/internal/lite": nil,
		"core/catalog":       leaf,
		"core/body":          leaf,
		"core/selector":      leaf,
		"core/objectjson":    append(slices.Clone(leaf), "core/wire"), // it makes what wire carries
		"core/wire":          leaf,
		"core/store":         words,
		"core/history":       append(slices.Clone(words), "core/store"),                 // events are of versions
		"core/watcher":       append(slices.Clone(words), "core/store", "core/history"), // and watches of events
		"core/cacher":        stores,
		"core/view":          keepers, // these four work on one cacher each
		"core/reflector":     keepers,
		"core/direct":        append(slices.Clone(keepers), "core/catalog", "core/reflector"), // it feeds one
		"core/objcache":      keepers,
		"core/session":       keepers,
		"core": append(slices.Clone(keepers),
			"core/view", "core/reflector", "core/direct", "core/objcache", "core/session"),
	}
}

func TestImportsBetweenRooms(t *testing.T) {
	allowed := rooms()
	for path, p := range list(t, nil, "./core/...") {
		path, mine := strings.CutPrefix(path, module)
		if !mine || !isCore(path) {
			continue
		}
		room, known := allowed[path]
		if !known {
			t.Errorf("%s has no place in the layout yet: add it to rooms", path)
		}
		for _, i := range ours(p.Imports) {
			if !slices.Contains(room, i) {
				t.Errorf("%s imports %s, which is above it or beside it", path, i)
			}
		}
	}
}

// What would let the world, or chance, into the engine.
var forbidden = []string{"os", "net", "time", "context", "sync", "math/rand", "math/rand/v2", "fmt", "reflect", "encoding/json"}

func TestImportsOfTheEngineAreFreeOfTheWorld(t *testing.T) {
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

// detour names who imports a package.
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

// The host's rooms and what they must not know.
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
	}
}

// The Kubernetes API runs at the edge too, where nothing else of the host does
// but the question who may read what.
func TestImportsOfTheKubernetesAPI(t *testing.T) {
	all := list(t, []string{"GOOS=js", "GOARCH=wasm"}, "./host/kubeapi")
	for path, p := range all {
		mine, ok := strings.CutPrefix(path, module)
		switch {
		case ok && !isCore(mine) && !slices.Contains([]string{"host/kubeapi", "host/access", "host/limit"}, mine) && !strings.HasPrefix(mine, "host/internal/"):
			t.Errorf("host/kubeapi needs %s, by way of %s", mine, detour(all, path))
		case !ok && !p.Standard:
			t.Errorf("host/kubeapi needs %s, which is neither ours nor of the standard library", path)
		}
	}
}

// The edge's HTTP face is measured in kilobytes: what it needs besides the
// Kubernetes API is small, and is named here.
func TestImportsOfTheEdge(t *testing.T) {
	light := []string{"host/kubeapi", "host/access", "host/access/token", "host/limit", "host/edge", "host/source", "wasm/edge"}
	theirs := []string{"github.com/golang-jwt/jwt/v5", "github.com/syumai/workers", "golang.org/x/sync/errgroup"}
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
