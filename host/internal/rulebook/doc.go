// Package rulebook connects the rules of core/SEMANTICS.md with the tests that
// prove them, and runs the mutants of core/sim/mutants.
//
// A mutant is one deliberate bug: a text file that says what it breaks, which
// rules, and which tests must notice it, followed by the lines to replace.
//
//	# A slow watch that owes its end bookmark is cut off at once.
//	rules: W13 W14
//	test: core/watcher TestW13_Terminate
//	sim: 500
//
//	@@ core/watcher/watcher.go
//	-	w.Stop(w.bookmark == received)
//	+	w.Stop(false)
//
// Scenarios claim mutants in their headers. The runner applies one mutant at a
// time with the -overlay flag of the go command, so that production code has no
// hooks for it, and requires every claim to hold: each test named by the mutant,
// each scenario that names it, and at least one of the simulation's seeds must
// fail.
//
// Mutants change Go files only. The TypeScript of the edge (js/src/edge) is bundled by
// another tool, which has no overlays, and its tests run the bundle in workerd. The
// confidentiality of its Durable Objects is tested with sentinels by host/internal/edge
// TestRestrictedTokensReceiveNothingOfOtherNamespaces.
package rulebook
