// Package core is the engine: everything that happens on a reader's side of a
// Kubernetes watch, for one origin, as a state machine without I/O.
//
// An [Engine] opens nothing, reads no clock and starts no goroutine. The
// program around it does, and speaks with it in frames of package wire:
//
//   - Step takes commands (open a collection, a watch, a view; get; list;
//     acquire an object) and the results of I/O (a stream opened, a message
//     came, the stream closed). The frames are validated whole before any of
//     them applies.
//   - Tick tells the time, in milliseconds. It is the only clock; call it before
//     every Step, and when WakeAt asks for it. Feed it from a monotonic one: if
//     it goes back all the same, the engine goes on from where it was.
//   - Ready returns what the engine wants done or told: intents (open a stream,
//     send this, wake me then) and deliveries (events, patches, states,
//     replies). Call it after every Step and Tick until it returns nil.
//   - Advance gives the bytes of the last Ready back to the engine.
//
// The same configuration and the same calls give the same bytes, wherever the
// engine runs; that is how one set of scenarios holds for five runtimes.
//
// The intents and their answers:
//
//	OpenStream   connect to the origin, then Step a StreamOpened with the
//	             credentials, or a StreamClosed if that failed
//	SendStream   send the data as one message
//	CloseStream  close; a StreamClosed in return is not needed
//	WakeAt       call Tick no later than then; the newest one counts
//
// An engine whose Config names a Kubernetes API has no connector and reads that
// itself:
//
//	Fetch        GET the path, then Step a Fetched with the code of the answer, a
//	             StreamData for each piece of its body, and a StreamClosed, whose
//	             message is empty when the body ended in order
//	CloseStream  abandon it
//
// Every message that comes in is handed on as one StreamData; the end of a
// stream, for whatever reason, as one StreamClosed. Frames for a stream that
// the engine has given up are ignored, so the program need not care which of
// the two sides was first.
//
// A program that ends, or is put to sleep, can take a snapshot of a collection
// before, and open the collection with it afterwards: the data is there at once,
// the state says since when it is not current, and only what changed travels. The
// objects need not be handed in: an engine with a [Loader] asks for those that
// somebody looks at, then and there. That and the [Decoder] are all that it asks for
// in the midst of a call, and both give what follows from what it had before.
//
// An engine can also serve readers of its own out of what it holds, with the
// very sessions that a connector has: AttachReader lets one in, with what it may
// see. The program owns the connections: it passes on what readers say, sends
// what SendReader has for them, and grants room when their sockets can take more.
// While the engine hears nothing itself, it tells its readers so. KeepReader tells
// what it takes to go on with a reader in another engine, after this one is gone.
//
// An Engine is not safe for concurrent use: one goroutine, worker or isolate
// owns it. What it is given it copies where it keeps it; what it returns from
// Ready is its own and valid until Advance.
//
// The example shows the whole loop.
package core
