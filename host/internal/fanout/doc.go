// Command fanout measures the cost of sending a change to many readers. It compares
// the processor time of the connector and its server, per event and reader, with a
// plain WebSocket broadcast of the same bytes. The broadcast uses the server's
// WebSocket library. The server bypasses that library for messages (package socket),
// so it can take less time than the broadcast if many readers receive the same
// bytes.
//
// A thousand readers watch one resource with a thousand different selectors. They run in another
// process, so that their time is not counted. The cases differ in the number of readers that a
// change matches. The recipients of the broadcast are fixed in advance. It writes the same
// number of bytes to the same number of sockets from one loop, without goroutines, locks or
// access to the data.
//
// The time of the connector is the processor time of the whole process. It includes
// scanning and compressing each object once, and the source in memory. Periodic progress reports
// are disabled, so that both sides write the same number of messages. Both sides are
// measured in turns, and the result is the median.
//
// With -cpuprofile, it profiles only the connector's rounds.
//
// With -reconnect, it measures the wait of another user for the connector's lock while all
// readers reconnect at once and receive the complete state.
//
// With -sync, all readers connect and request the complete state at the same time. It measures
// the connector's live memory, and compares the processor time with a broadcast. The broadcast
// accepts as many connections and sends as many messages of the same size.
package main
