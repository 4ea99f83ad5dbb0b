// Package sim runs the whole system in one goroutine, from one seed: a source
// with its revisions, connectors (the cachers and sessions of package core),
// a network, and readers (real engines) with programs that open watches, views
// and objects at random. Between readers and connectors there may be objects at
// the edge, which are engines too, and instead of both there may be API servers of
// Kubernetes. The clock is virtual, and so are the faults.
//
// A seed is a program: a list of [Op], each with a seed of its own that decides
// its particulars, so that leaving ops out leaves the others as they are. [Run]
// carries a program out, then ends all faults, gives everyone time, and judges:
//
//   - what every watch delivered, by the validators of package check;
//   - what views, lists and object handles show, whenever they change, against
//     the source's log;
//   - what programs keep of collections and hand to another engine: all of it is
//     restored, or nothing, and what was damaged never is;
//   - that nobody is silently stale or goes back in time, that everyone ends
//     where the source is, and that nothing is left behind when all is closed.
//
// A [Campaign] runs many seeds and counts the situations that it has seen; one
// in which something interesting never happened proves little, and fails. A
// failure is shrunk to a short list of ops and printed with the command that
// shows it again.
//
// The README has the figures, and the bugs that were found.
package sim
