// Package coretest runs scenarios: readable transcripts of an engine's inputs and
// outputs.
//
// A scenario is a text file of steps, separated by blank lines. A step is one or more
// verb lines, a line of four dashes, and the engine's output. Lines that start with # are
// comments, and a rewrite preserves them. The comment at the top ends with the rules that
// the scenario shows, and the mutants of core/sim/mutants that must make it fail.
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
// Everything runs in one goroutine against a virtual clock: a real [core.Engine], and
// real sessions and cachers of a connector. The network between engine and connector
// delivers, holds, loses and refuses messages as the scenario directs. After each verb,
// the harness delivers messages until none is left, and prints the engine's output frames,
// most of them on one line each. It prints the state of a collection only when the state
// has changed, and the time of the next wake-up only for the verb wakes. After each call
// the harness overwrites the buffers that it passed to the engine. An engine that wrongly
// retains a buffer therefore produces wrong output.
//
// The table in verbs.go lists the verbs, grouped by actor. The actors are the connector's
// source, the network, a Kubernetes API that the engine reads directly, the clock, and
// the program that embeds the engine. The error for an invalid scenario names the file,
// the line and the expected input.
//
//	go test ./core/coretest -run TestScenarios            compare
//	go test ./core/coretest -run TestScenarios -rewrite   rewrite the outputs
//
// Read a rewritten file before you commit it: a golden output that records wrong behavior
// is worse than none.
//
// The same scenarios run in every runtime. [Compile] records all calls into the native
// engine and all bytes it returned as a [Transcript]. Another build of the engine must
// return the same bytes for the same calls. The directory replay contains the driver for
// JavaScript runtimes; the Go driver is in host/scenarios.
package coretest
