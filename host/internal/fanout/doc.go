// Command fanout measures what it costs to bring a change to many readers: the
// processor time of the connector and its server for each event that a reader
// is sent, against a plain WebSocket broadcast of the same bytes by the library that
// the server is made with. The server writes messages past it (package socket), and
// so can take less than the broadcast where many are sent the same.
//
// A thousand readers, in a process of their own so that their time is not
// counted, watch one resource with a thousand different selectors. Each change
// matches some of them: the cases. The broadcast knows who is to be sent what,
// and writes the same number of bytes to the same number of sockets from one
// loop, without a goroutine, a lock or a look at the data.
//
// The time of the connector is that of the whole process and so includes
// scanning and compressing each object once, and what the source in memory takes.
// The reports of progress, which readers get every so often whatever happens, are
// left out, so that both sides write the same number of messages. Both sides are
// measured in turns, and the median counts.
//
// With -cpuprofile it profiles the connector's rounds alone, without what goes
// before them.
//
// With -reconnect it measures how long somebody waits for the connector's lock
// while all readers come back at once and are sent the whole state.
package main
