// Package session is the serving side of one reader's connection: the
// subscriptions it has opened, what each has been sent, and how much more it
// takes.
//
// A session has no queue. A subscription is a position in its collection's
// history, and [Session.Next] builds the next message from there when the
// connection can take one; a reader that is slow is simply further behind, and
// costs nothing. Nor does one that has caught up, whatever happens to objects that
// it does not watch: it is woken by the first change that its selectors let
// through ([Backend].Wake), and by the clock for progress. One that falls out of
// the window is told so with a 410 and starts over with a snapshot.
//
// What many readers are told is encoded once, as far as they are told the same
// (encoded.go). A session can be kept and gone on with elsewhere, without a new
// list for its reader ([Session.Keep], [Session.Resume]).
//
// A snapshot is read from the store in key order, a message at a time, while
// the store moves on. What changed meanwhile is replayed from the history
// behind it, and since a reader ignores a version that is older than the one it
// has, the two together are the exact state at the version that ends the
// snapshot. No state is copied for it, whatever the number of readers.
//
// No frame of a subscription has a byte of an object outside of its scope: neither
// objects nor label sets, faults and totals. Label sets have numbers of the
// subscription's own, unless it is one of everything. A dictionary is sent to all
// readers of a resource; whoever sets it must not make it of objects.
//
// A session is I/O-free: messages in through Receive, out through Next, time as
// an argument. It shares its collections with other sessions and is no more safe
// for concurrent use than they are.
package session
