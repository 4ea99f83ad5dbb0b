// Package socket implements a connector's connections over WebSockets that a reader
// opened or the connector dialed.
//
// This package writes frames (frameconn.go). The library performs the handshake, reads,
// and closes. The library cannot write a message only if the write does not block.
// It closes a connection whose pings and pongs wait for five seconds, although a
// message on a slow link takes longer. Its overhead is a fifth of the time for
// writing a short message.
package socket
