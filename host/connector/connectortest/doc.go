// Package connectortest provides a reader for tests. It implements the wire protocol,
// records the received state, and rejects violations of the guarantees of a watch.
//
// [Pipe] connects it to a connector in memory, without goroutines or buffers, so
// that it works with testing/synctest. [Dial] connects it to a server.
package connectortest
