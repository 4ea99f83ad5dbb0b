// Package dispatch delivers the changes of one collection to its watches and followers.
//
// A [Dispatcher] serves watches. It adds each event to the queues of the watches that the
// event matches. It waits for slow consumers within a time budget, and schedules
// bookmarks (rules C20 to C33). [Followers] serves readers of the window that keep only a
// position in it, such as sessions.
//
// Both types find the filters that may match a change with an [Index], without
// evaluating the other filters (rule C24). The cost of an event is proportional to the
// number of watches it matches, not to the number registered. No frequent operation
// iterates over all watches.
package dispatch
