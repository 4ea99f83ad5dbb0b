// Command fanout measures the cost of sending a change to many readers. It compares
// the processor time of the connector and its server, per event and reader, with a
// plain WebSocket broadcast of the same bytes. The broadcast writes through the
// WebSocket library, which the server bypasses for writes (package socket). The server
// can therefore take less time than the broadcast if many readers receive the same
// bytes.
//
// A thousand readers watch one resource with a thousand different selectors. The readers
// run in another process, so that the processor time of the readers is not counted. The
// cases differ in the number of readers that a change matches. The recipients of the
// broadcast are fixed in advance. The broadcast writes the same number of bytes to the
// same number of sockets from one loop, without further goroutines, and without reading
// any data.
//
// The time of the connector is the processor time of the whole process. It includes
// scanning and compressing each object once, and the in-memory source. Periodic progress reports
// are disabled, so that both sides write the same number of messages. The measurements of the
// two sides alternate, and the result is the median.
//
// With -cpuprofile, the command writes a CPU profile of the connector's rounds only.
//
// With -reconnect, all readers connect at once and receive the complete state. Meanwhile,
// the command measures how long another goroutine waits for the connector's lock.
//
// With -sync, all readers connect and request the complete state at the same time. The
// command measures the connector's live memory, and compares the connector's processor time with
// that of a broadcast. The broadcast accepts as many connections and sends as many messages of
// the same size.
package main
