// Package coretest runs scenarios: readable transcripts of what an engine is
// asked and told, with what it says in return.
//
// A scenario is a text file of steps, separated by blank lines. A step is one or
// more verb lines, a line of four dashes, and what the engine said. Lines that
// start with # are commentary and stay where they are. The comment at the top
// ends with the rules that the scenario shows, and the mutants of core/sim/mutants
// that must break it.
//
//	# A watch starts with the state, in key order (W40).
//	#
//	# Rules: W40
//	# Mutants: initial-events-in-reverse
//
//	load v1/pods rv=4
//	  default/a rv=3 app=web phase=Running
//	collection 1 v1/pods
//	watch 1 collection=1
//	----
//	open stream 1
//	...
//
// Everything runs in one goroutine against a virtual clock: a real
// [core.Engine], real sessions and cachers of a connector, and a network
// between them that delivers, holds, loses and refuses as told. After each verb
// the rig moves what can be moved until nothing does, and prints every frame
// that the engine put out for the program, one line each. The state of a
// collection is printed when it reads differently than before; wake-ups only by
// the verb that asks for them. The buffers handed to the engine are scribbled
// over after each call, so that bytes it had no right to keep come out wrong.
//
// Verbs are listed in the table of verbs.go, grouped by who acts: the source
// behind the connector, the network, a Kubernetes API that the engine reads itself,
// the clock, and the program that uses the engine. A mistake in a scenario is
// reported with file and line and what was expected.
//
//	go test ./core/coretest -run TestScenarios            compare
//	go test ./core/coretest -run TestScenarios -rewrite   rewrite what was said
//
// Read a rewritten file before you commit it: a golden output that records
// wrong behaviour is worse than none.
//
// The same scenarios run in every runtime. [Compile] records all calls into
// the native engine and all bytes it returned as a [Transcript]; replaying the
// calls on another build of the engine must give the same bytes. The
// directory replay has a driver for JavaScript runtimes; Go's is in
// host/scenarios.
package coretest
