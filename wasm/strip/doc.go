// Package strip makes a module that Go built smaller, and faster, by what no run of
// it needs. It is a step of the build, after the linker:
//
//	go run ./wasm/strip/cmd/wasmstrip linked.wasm small.wasm
//
// It stands beside the module's source and has no part in it: the Makefile runs it on
// what the linker made, and tests and benchmarks that link a module call it, so that
// what they run is what is shipped. Nothing else imports it, and of watchglass it knows
// one function: any module of Go's can be stripped.
//
// It is here because plain Go has a floor, of which a third is what nobody reads: an
// empty module is 421 kB after brotli, and 291 stripped. "make bench BENCH=P7" has the
// figures.
//
// Every address stays. Four things change, the first two in the data section:
//
//   - What the runtime reads to print a stack trace is blanked: names of
//     functions, files and lines, what was inlined where, how arguments are laid
//     out; and what it never reads on WebAssembly: where a goroutine may be
//     preempted by a signal, and fifteen of sixteen buckets of the table that
//     finds a function. What it reads to grow a stack, to collect garbage, to
//     run deferred calls and to recover stays.
//   - Data is cut into segments at long runs of zeros, and not at every run of
//     eight. The linker's 40,000 segments cost more, once the module is
//     compressed, than the zeros that they leave out.
//   - Jumps within a function, each of which starts a loop over to go through a
//     table, become branches where one leads forward to the same place (jumps.go
//     says how). What is compiled from that in V8 takes 7 % less time to ingest
//     events, and the module is 5 % smaller after brotli.
//   - Two functions that look for bytes and for the end of a JSON value get other code,
//     of WebAssembly's instructions for vectors, which Go's compiler does not use
//     (vectors.go has it, in the notation of code.go). An event of raw watch JSON takes
//     15 % less time in V8, where 22 % of it were spent in the two.
//
// # What is lost
//
// A stack trace of Go's has neither names nor lines: a fatal error says what
// happened and not where, as does a panic that nobody recovers. Texts of panics are
// complete. A trace of the engine that runs the module has the numbers of functions
// (wasm-function[1234]), which are those of the same source linked without -s, a
// module that has the names.
//
// A program that asks where it is (runtime.Callers, runtime.Caller, log.Lshortfile,
// pprof) is told nothing. The guest does not ask.
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
