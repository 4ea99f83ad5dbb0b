// Package interrupt turns signals into the cancellation of a context or into
// requests to reload. Programs thus end cleanly and leave no files or processes
// behind.
package interrupt
