// Package core implements the engine, the client side of Kubernetes watches, as a state
// machine without I/O. Each engine has one origin: a connector or a Kubernetes API.
//
// An [Engine] performs no I/O, reads no clock and starts no goroutines. The program
// that embeds it performs the I/O, supplies the time, and exchanges frames of package
// wire with it:
//
//   - Step takes commands and results of I/O. Commands open collections, watches and
//     views, and get, list or acquire objects. Results report that a stream was opened
//     or closed, or that a message arrived. Step validates all frames before it applies
//     any.
//   - Tick sets the time in milliseconds. The engine has no other clock. Call Tick
//     before every Step and at the time that WakeAt requests, with the time of a
//     monotonic clock. If the clock goes back, the engine's time does not.
//   - Ready returns the engine's output: requests for I/O (open a stream, send
//     data, wake the engine) and deliveries (events, patches, states, replies).
//     Call it after every Step and Tick until it returns nil.
//   - Advance returns the bytes of the last Ready to the engine.
//
// The same configuration and the same calls produce the same bytes on every
// platform. One set of scenarios therefore tests five runtimes.
//
// The requests for I/O and their results:
//
//	OpenStream   connect to the origin, then Step a StreamOpened with the
//	             credentials, or a StreamClosed if that failed
//	SendStream   send the data as one message
//	CloseStream  close the stream; a StreamClosed in return is optional
//	WakeAt       call Tick at this time; a new request replaces the previous one. The
//	             current time means that work is left, such as for a view over many
//	             objects: process other input first, then call Tick
//
// An engine whose Config names a Kubernetes API reads that API directly, without
// a connector:
//
//	Fetch        GET the path, then Step a Fetched with the status code, a
//	             StreamData for each piece of the response body, and a
//	             StreamClosed; its message is empty only after a complete body
//	CloseStream  cancel the request
//
// The program passes each received message as one StreamData, and the end of a
// stream as one StreamClosed. The engine ignores frames for streams that it has
// closed, so the two sides may close a stream independently.
//
// A program can take a snapshot of a collection before it exits or sleeps, and restore
// the collection later. The data is then available immediately, with the time at which it
// was last current. Only changes since the snapshot are transferred. An engine with a
// [Loader] loads the restored objects on demand. The Loader and the [Decoder] are the
// only functions of the program that the engine calls. Both must be deterministic.
//
// An engine can also serve readers from its own collections, with the same sessions as a
// connector. AttachReader adds a reader with its permissions. The program owns the
// connections: it passes on the reader's messages, sends the contents of SendReader, and
// grants room when a socket accepts more data. The engine informs its readers if its own
// connection has been down for some seconds. SaveReader returns the state of a reader's
// session, so that another engine can continue the session.
//
// An Engine is not safe for concurrent use; one goroutine, worker or isolate owns
// it. The engine copies the input that it stores. The output of Ready is valid until
// Advance.
//
// The example shows the complete loop.
package core
