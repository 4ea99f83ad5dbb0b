// Package socket lets a connector speak over a WebSocket, be it one that a reader
// opened or one that the connector dialled out itself.
package socket
