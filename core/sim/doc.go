// Package sim simulates the whole system in one goroutine from one seed. The system
// consists of a source, connectors (the cachers and sessions of package core), a network,
// and readers. Readers are real engines with programs that open watches, views and
// objects at random. There may be edge objects, which are also engines, between readers
// and connectors. Kubernetes API servers may replace both connectors and edge objects.
// The clock and the faults are simulated.
//
// A seed is a program: a list of [Op], each with its own seed, so that removing
// ops does not change the others. [Run] executes a program, ends all faults,
// waits until the system is idle, and checks:
//
//   - the deliveries of every watch, with the validators of package check;
//   - the content of views, lists and object handles at every change, against the log of
//     the source;
//   - the states that programs persist, and restore in another engine: a state is
//     restored completely or not at all, and a corrupt state is never restored;
//   - that no reader is stale without reporting it or goes back in time, that all
//     readers converge to the source, and that closing releases everything.
//
// A [Campaign] runs many seeds and counts the situations that occurred. It fails
// if a situation never occurred, because the campaign then does not test that
// situation. A failure is shrunk to a short list of ops and printed with the
// command that reproduces it.
//
// The README contains figures and the bugs that the simulation has found.
package sim
