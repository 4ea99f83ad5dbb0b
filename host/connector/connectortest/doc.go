// Package connectortest provides a reader for tests. It implements the wire protocol,
// records the received state, and rejects violations of the guarantees of a watch.
//
// [Pipe] connects a reader to a connector in memory, without goroutines or buffers, so
// that tests can use testing/synctest. [Dial] connects a reader to a server.
package connectortest
