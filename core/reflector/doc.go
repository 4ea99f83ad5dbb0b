// Package reflector is the upstream side of one collection: it subscribes,
// takes what the connector sends into the cacher, resumes after a cut, starts
// over after a 410, and knows how current the collection is.
//
// A [Reflector] is told of the connection (Connected, Disconnected), of frames
// and of the time, and leaves the frames it wants sent in Outgoing. Its rules
// are those of the Kubernetes client loop (R1 to R12) and three of its own:
//
//   - The resume version moves only with whole revisions.
//   - A new list replaces the old state in one step, when it is complete.
//   - Changes are no progress: they may be from long ago. A collection that has
//     not heard of progress for three periods says that
//     it is stale, whatever the connection looks like.
//
// Changes come as differences from what is here: a patch of the envelope, and a
// body that needs its base. Which bases the reader has is told by two numbers,
// the name of the connector's bases and the version since which it has those. A
// difference from something that is not here starts the subscription over.
//
// Where Kubernetes is read without a connector, objects come one by one
// ([Reflector.Object], [Reflector.Removed]).
//
// State that a program kept is replayed before the first connection, with the
// time at which progress was last heard of when it was kept. Its objects are looked
// at when somebody asks for them (later.go).
package reflector
