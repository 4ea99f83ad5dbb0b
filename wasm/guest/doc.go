// Command guest is watchglass as a WebAssembly module: the engine of package core
// behind ten exports, built as a wasip1 reactor.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags="-s -w" -o linked.wasm ./wasm/guest
//	go run ./wasm/strip/cmd/wasmstrip -guest linked.wasm watchglass.wasm
//
// The second step removes the data for stack traces and other unused data (package
// strip). This data is more than a quarter of the linked module.
//
// ABI.md is the contract with the programs that drive the module. This package contains
// no engine logic. guest.go contains the two arenas and the panic guard, and runs under
// go test on every platform. exports.go exports the functions of guest.go.
//
// Compressed with brotli, the module is at most 1.45 times as large as an empty Go module
// (P7 in host/PERFORMANCE.md). It does not import fmt, reflect or encoding/json, not even
// indirectly. It therefore cannot use runtime/debug, which would be necessary to tune the
// garbage collector.
package main
