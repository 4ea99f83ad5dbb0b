package client

import (
	"embed"
	"errors"
)

// The directory module always exists, so that a clean checkout compiles. The command
// "make wasm" builds watchglass.wasm in it.
//
//go:embed all:module
var embedded embed.FS

// EmbeddedModule returns the module that this package was built with.
func EmbeddedModule() ([]byte, error) {
	module, err := embedded.ReadFile("module/watchglass.wasm")
	if err != nil {
		return nil, errors.New("client: this program was built without the wasm module: run make wasm and build again")
	}
	return module, nil
}
