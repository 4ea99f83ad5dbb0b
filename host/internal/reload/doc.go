// Package reload reloads certificates, keys and tokens when their files change.
//
// A [Watcher] reads every file at an interval and compares the content. It therefore
// detects files that are written in place, renamed over, or replaced through a
// symbolic link, as Kubernetes does with mounted Secrets. It loads a [Group] if one of
// its files has changed, or on request, for example by SIGHUP.
//
// A rotation may write a certificate and its key one after the other. A load in between
// fails, so the Watcher retries it once after a short delay before it logs and counts a
// failure. The previous content stays in use until a load succeeds.
package reload
