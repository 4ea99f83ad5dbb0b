// Command guest is watchglass as a WebAssembly module: the engine of package core
// behind ten exports, built as a wasip1 reactor.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags="-s -w" -o linked.wasm ./wasm/guest
//	go run ./wasm/strip/cmd/wasmstrip -guest linked.wasm watchglass.wasm
//
// The second step removes the data for stack traces, and more than a quarter of the
// size (package strip).
//
// ABI.md is the contract with the programs that drive the module. This package
// contains no engine logic. guest.go has the two arenas and the panic guard, and
// runs under go test on every platform. exports.go exports its functions.
//
// The module is almost as small as an empty Go module (421 kB of brotli). It
// imports no fmt, reflect or encoding/json, not even indirectly. That rules out
// runtime/debug, and with it a tuned garbage collector (P7 in host/PERFORMANCE.md).
package main
