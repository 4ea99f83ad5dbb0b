// Package audit records the decisions about clients: it counts them, logs tokens
// that are refused, and writes an audit log of who read what.
//
// The audit log has one JSON object per line, an [Event]. Every get, list, watch and
// subscription has a line when it is decided about, before the client receives
// anything, and another one if the right is withdrawn later. A token that is refused
// has a line as well; one that is accepted has none, because the reads that follow
// name the user. Tokens and objects are never written.
//
// Lines are written one at a time while the request waits, as kube-apiserver does,
// so that an event is not lost. A line that cannot be written is counted and
// logged, and the request goes on. Strangers cannot fill the disk: texts are clipped,
// and beyond a rate, refused tokens are counted in the next line.
package audit
