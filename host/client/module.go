package client

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	wasm "github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Module is the compiled wasm module. Compiling takes a second or two, or milliseconds
// with a cached result. Instances start in milliseconds. A Module is safe for concurrent
// use.
type Module struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	cache    wazero.CompilationCache // nil for none
}

// Compile compiles a module. If module is nil, it compiles the embedded one. It caches
// the machine code in cacheDir, unless cacheDir is empty.
func Compile(ctx context.Context, module []byte, cacheDir string) (*Module, error) {
	if module == nil {
		var err error
		if module, err = EmbeddedModule(); err != nil {
			return nil, err
		}
	}
	m := &Module{}
	config := wazero.NewRuntimeConfig()
	if cacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return nil, fmt.Errorf("client: cache of compiled modules: %w", err)
		}
		m.cache = cache
		config = config.WithCompilationCache(cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := m.compile(ctx, module); err != nil {
		_ = m.Close(ctx)
		return nil, err
	}
	return m, nil
}

func (m *Module) compile(ctx context.Context, module []byte) (err error) {
	if _, err = wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	numbers := []wasm.ValueType{wasm.ValueTypeI32, wasm.ValueTypeI32, wasm.ValueTypeI32}
	_, err = m.runtime.NewHostModuleBuilder("watchglass").NewFunctionBuilder().
		WithGoModuleFunction(wasm.GoModuleFunc(load), numbers, numbers[:1]).Export("load").Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if m.compiled, err = m.runtime.CompileModule(ctx, module); err != nil {
		return fmt.Errorf("client: module does not compile: %w", err)
	}
	return nil
}

// Close closes the module and all of its instances.
func (m *Module) Close(ctx context.Context) error {
	err := m.runtime.Close(ctx)
	if m.cache != nil {
		if cacheErr := m.cache.Close(ctx); err == nil {
			err = cacheErr
		}
	}
	return err
}

// DefaultCacheDir creates and returns the directory watchglass in the user's cache
// directory. It returns "" if that fails.
func DefaultCacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, "watchglass")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return ""
	}
	return dir
}
