// Package session implements the server side of one reader's connection: its
// subscriptions, and the position and credit of each.
//
// A session has no queue. A subscription is a position in the history of its collection.
// [Session.Next] builds the next message from that position when the connection can accept
// one. A slow reader has an older position and uses no additional memory. A reader that
// has caught up uses no processor time until a change matches its selectors
// ([Backend].Wake) or progress is due. A reader that falls out of the history window gets
// a 410 and starts over with a snapshot.
//
// Events that several readers receive are encoded once (encoded.go). A session
// can be persisted and continued elsewhere without a new list for its reader
// ([Session.Save], [Session.Resume]).
//
// A snapshot is read from the store in key order, one message at a time, while the store
// changes. Changes to objects that were already sent precede further objects, so the
// reader always has the exact state up to the last key. After a disconnect, the snapshot
// continues from that key, even at another connector. The session never copies the state.
//
// Neighboring objects of a snapshot are compressed together, in blocks (block.go).
// A block is encoded once for all readers without selectors.
//
// A reader may choose the columns of a subscription (columns.go). Their values are
// computed from bodies for this subscription alone, and the cost is charged to
// [Config].Meter.
//
// The frames of a subscription contain no data of objects outside its scope. This also
// applies to label sets, faults and totals. Label sets have IDs that are private to the
// subscription, unless it covers everything. A dictionary is sent to all readers of a
// resource and must therefore not be derived from objects.
//
// A session performs no I/O: Receive takes the messages of the reader, Next returns the
// messages to send, and time is an argument. Sessions share collections. Neither sessions
// nor collections are safe for concurrent use.
package session
