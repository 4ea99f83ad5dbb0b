// Package scenarios runs the scenarios of testdata/scenarios in every runtime with a
// driver, and compares the outputs byte by byte.
//
// The native engine, which is compiled into this program, generates the transcripts. The
// module build/watchglass.wasm replays them under wazero, Node, Chromium and workerd. If
// the outputs differ, the module was built from other sources (run make wasm), or the
// engine's output depends on something other than its input.
//
//	make scenarios
package scenarios
