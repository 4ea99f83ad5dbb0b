// Package scenarios runs the scenarios of testdata/scenarios in every runtime
// that there is a driver for, and compares byte by byte.
//
// The engine that is compiled into this program makes the transcripts; the
// module build/watchglass.wasm replays them under wazero, Node, Chromium and
// workerd. A difference means that the module is not of this source tree (run
// make wasm), or that the engine's output depends on something other than its
// input.
//
//	make scenarios
package scenarios
