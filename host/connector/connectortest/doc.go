// Package connectortest is a reader for tests: it speaks the wire protocol
// frame by frame, keeps the state it was told, and refuses anything that breaks
// the guarantees of a watch.
//
// [Pipe] connects it to a connector in memory, without goroutines or buffers,
// so that it runs under testing/synctest; [Dial] connects it to a server.
package connectortest
