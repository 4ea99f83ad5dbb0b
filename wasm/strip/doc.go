// Package strip makes a module that Go built smaller and faster, by removing what no
// run of it needs. It is a build step after the linker:
//
//	go run ./wasm/strip/cmd/wasmstrip linked.wasm small.wasm
//
// The Makefile runs it on the linker's output. Tests and benchmarks that link a module
// call it too, so that they run what is shipped. It works on any module of Go; of
// watchglass it knows one function.
//
// A third of an empty Go module is data that no run reads. host/PERFORMANCE.md has the
// figures (P7, P4).
//
// Every address stays the same. Four things change, the first two in the data section:
//
//   - What the runtime reads to print a stack trace is blanked: names of functions,
//     files and lines, inlining, the layout of arguments. So is what it never reads on
//     WebAssembly: signal preemption points, and fifteen of sixteen buckets of the
//     function lookup table. What it reads to grow a stack, to collect garbage, to run
//     deferred calls and to recover stays.
//   - Data is cut into segments at long runs of zeros, and not at every run of eight.
//     Once compressed, the linker's 40,000 segments cost more than the zeros that they
//     leave out.
//   - Jumps within a function, each of which restarts a loop to go through a table,
//     become branches where they lead forward to the same place (jumps.go).
//   - Two functions, which search bytes and the end of a JSON value, get code with the
//     vector instructions of WebAssembly, which Go's compiler does not use (vectors.go,
//     in the notation of code.go).
//
// # What is lost
//
// A stack trace of Go has neither names nor lines: a fatal error or an unrecovered
// panic says what happened and not where. The texts of panics are complete. A trace of
// the engine that runs the module has the numbers of functions (wasm-function[1234]).
// They are those of the same source linked without -s, a module that has the names.
//
// runtime.Callers, runtime.Caller, log.Lshortfile and pprof find nothing. The guest
// does not use them.
//
// # What an engine must have
//
// Vectors of fixed width, which are part of WebAssembly 2.0: Chrome 91, Firefox 89,
// Safari 16.4, Node 16.4, workerd and wazero have them, on processors of the last
// fifteen years. Another engine refuses the module as a whole.
//
// # What it knows of Go
//
// The layout of the runtime's tables is not an API. tables.go describes it for the
// releases in layouts, and checks every table and every function's entry against that
// description. If a module is of another release, or if a check fails, [File] copies
// the module unmodified and returns a warning, so that a build never depends on the Go
// release. The module then works as before and is larger and slower.
//
// To support a new release, compare runtime/symtab.go, runtime/symtabinl.go,
// internal/abi/symtab.go and the callers of funcname, pcdatavalue and funcdata in the
// runtime with those of the last release, then add it to layouts.
//
// The package also knows how jumps look within a function. It does not change a
// function in which they look different.
//
// # Functions with vectors
//
// A function that gets other code is found by its name, and its arguments by their
// places on Go's stack. A build fails when one of [GuestFunctions] is missing, because
// a rename would otherwise drop the vectors silently. The tests run a program linked
// and stripped, and notice when a function is called in another way.
//
// Vectors of simd/archsimd in Go 1.27 do not replace them: see P4 in
// host/PERFORMANCE.md.
package strip
