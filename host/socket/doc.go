// Package socket implements connector.MessageConn over WebSockets, both accepted from
// readers and dialed by the connector.
//
// The library coder/websocket performs the handshake, reads messages and closes
// connections. This package writes the frames of messages, pings and pongs
// (frameconn.go). The library has no nonblocking write. It also closes a connection if a
// ping or a pong waits for five seconds. On a slow link, a long message can delay pings and
// pongs for longer. For a short message, the library's own overhead is a fifth of the time
// of a write.
package socket
