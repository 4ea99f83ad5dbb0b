// Package reload loads certificates, keys and tokens again when their files
// change.
//
// A [Watcher] reads every file at an interval and compares the content, so that it
// works with files that are written in place, renamed over, or replaced through a
// symbolic link, as Kubernetes does with mounted Secrets. A Group is loaded when one
// of its files has changed, or when the process is asked to, as by SIGHUP.
//
// Rotation writes a certificate and its key one after the other. So a Group that
// cannot be loaded is tried once more after a moment before the failure is logged and
// counted. What was loaded last stays in use until a load succeeds.
package reload
