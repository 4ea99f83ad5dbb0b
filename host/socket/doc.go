// Package socket lets a connector speak over a WebSocket, either one that a reader
// opened or one that the connector dialed.
//
// Frames are written here (line.go) and not by the library, which stays in charge
// of the handshake, of what is read, and of closing. The library has no way to
// write a message on condition that it need not wait. It closes a connection whose
// pings and pongs wait for five seconds, although a message on a slow link takes
// longer. And a fifth of what a short message takes is spent above the system call.
package socket
