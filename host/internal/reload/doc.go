// Package reload reloads certificates, keys and tokens when their files change.
//
// A [Watcher] reads every file at an interval and compares the content. It therefore
// detects files that are written in place, renamed over, or replaced through a
// symbolic link, as Kubernetes does with mounted Secrets. The Watcher loads a [Group]
// when one of the group's files has changed, or on request, for example after SIGHUP.
//
// A rotation may write a certificate and its key one after the other. A load between
// the two writes fails, so the Watcher retries a failed load once after a short delay.
// The Watcher logs and counts a failure only if the retry fails too. The previous
// content stays in use until a load succeeds.
package reload
