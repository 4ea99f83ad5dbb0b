// Package strip makes a module built by Go smaller and faster. It removes data that
// is not used at run time. It is a build step after the linker:
//
//	go run ./wasm/strip/cmd/wasmstrip linked.wasm small.wasm
//
// The Makefile runs wasmstrip on the linker's output. Tests and benchmarks that link a
// module call this package too, so that they run the shipped code. The package works on
// any module built by Go. Only one function that it replaces belongs to watchglass.
//
// A third of an empty Go module is data that is not read at run time.
// host/PERFORMANCE.md has the figures (P7, P4).
//
// All addresses of data stay the same. The package makes ten changes, the first three in
// the data section:
//
//   - It zeroes the data for stack traces: names of functions, files and lines,
//     inlining, and the layout of arguments. It also zeroes tables that the runtime
//     does not use on WebAssembly: signal preemption points, and fifteen of sixteen
//     buckets of the function lookup table. It preserves the data for growing stacks,
//     collecting garbage, running deferred calls and recovering.
//   - It splits data into segments at long runs of zeros, rather than at every run of
//     eight. The headers of the linker's 40,000 segments compress worse than the zeros
//     between the segments.
//   - It omits the numbers of functions from the runtime's tables. A start function
//     writes them (numbers.go).
//   - It removes the code of functions of the runtime that never run, or that only
//     report data that a stripped module lacks. It also removes their tables
//     (unused.go).
//   - It replaces forward jumps within a function with branches, if a branch reaches the
//     same block (jumps.go). Go's linker implements such a jump as a loop that continues
//     through a jump table.
//   - It replaces sequences of instructions with shorter ones (peephole.go).
//   - It adds functions that call the functions of the runtime that report faults, grow
//     the stack or print. Half of all calls shrink to three instructions (cold.go).
//   - It makes calls that never return share one return address, if the runtime reads
//     the same values for each of these calls (shorten.go).
//   - It removes blocks whose end is neither the target of a branch nor a point where a
//     suspended function resumes (blocks.go).
//   - It implements three functions with vector instructions, which Go's compiler does not
//     use. They search for a byte, for two adjacent bytes and for the end of a JSON value
//     (vectors.go, in the notation of code.go).
//
// # Stack traces
//
// A Go stack trace contains neither names nor lines. A fatal error or an unrecovered
// panic reports its message and no location. A stack trace of the engine that runs the
// module contains function numbers (wasm-function[1234]). Linking the same source
// without -s yields a module with the same numbers and with names. The highest numbers
// are those of added functions.
//
// runtime.Callers, runtime.Caller, log.Lshortfile and pprof do not work. The guest does
// not use them. For a goroutine, the runtime prints only one line, with the state of the
// goroutine.
//
// # Unused functions
//
// A function is removed if no remaining function calls it, and neither code nor data
// refers to it. The tracer and the profiles of the runtime stay in a module that uses
// them. The settings schedtrace, scavtrace, checkfinalizers and gctrace=2 of GODEBUG
// print nothing.
//
// # Engine requirements
//
// An engine must support fixed-width vectors, which are part of WebAssembly 2.0. Chrome
// 91, Firefox 89, Safari 16.4, Node 16.4, workerd and wazero support them, on processors
// of the last fifteen years. Other engines reject the module.
//
// # Supported releases of Go
//
// The layout of the runtime's tables is not an API. tables.go describes the layout for
// the releases in layouts, and checks every table and every function's entry against that
// description. If another release built the module, or if a check fails, [File] copies
// the module unmodified and returns a warning. A build therefore succeeds with any Go
// release. The module then works without the changes, but is larger and slower.
//
// To support a new release, compare parts of its runtime with those of the last
// release, then add it to layouts. The parts are runtime/symtab.go,
// runtime/symtabinl.go, internal/abi/symtab.go, and the callers of funcname,
// pcdatavalue and funcdata.
//
// The package also depends on the form of jumps and calls within a function. It leaves
// jumps and calls of any other form unchanged.
//
// # Functions with vectors
//
// The package finds a replaced function by its name, and its arguments by their positions
// on Go's stack. A build fails if one of [GuestFunctions] is missing, because otherwise a
// rename would silently drop the vector code. The tests run a program before and after
// stripping, so they detect changes to the calling convention.
//
// Package simd/archsimd of Go 1.27 cannot replace this vector code (P4 in
// host/PERFORMANCE.md).
package strip
