// Package rulebook connects the rules of core/SEMANTICS.md with the tests that prove
// them, and runs the mutants of core/sim/mutants.
//
// A mutant is one deliberate bug. Its text file contains a description of the bug, the
// violated rules, the tests that must fail, and the lines to replace:
//
//	# A slow watch with an unsent end bookmark is ended immediately.
//	rules: W13 W14
//	test: core/watcher TestW13_Terminate
//	sim: 500
//
//	@@ core/watcher/watcher.go
//	-	w.Stop(w.bookmark == received)
//	+	w.Stop(false)
//
// Scenarios claim mutants in their headers. The runner applies each mutant with the
// -overlay flag of the go command, so production code needs no hooks. Every claim must
// hold: each test that the mutant file lists, and each scenario that claims the
// mutant, must fail. If the mutant has a "sim:" line, at least one seed of the
// simulation must fail as well.
//
// A mutant can also change the TypeScript of the edge (js/src/edge), for which
// overlays do not exist. The mutant's Go tests then run in a copy of the repository
// that consists of links and the changed bundles.
package rulebook
