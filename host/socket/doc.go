// Package socket lets a connector speak over a WebSocket, be it one that a reader
// opened or one that the connector dialled out itself.
//
// Of one that a reader opened over TCP (line.go), messages are framed here and not by
// the library, which stays in charge of the handshake, of what is read, and of
// control frames. It has no way to write a message on condition that nobody has to
// wait, and a fifth of what a short message takes is spent above the system call.
package socket
