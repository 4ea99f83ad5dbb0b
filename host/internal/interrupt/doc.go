// Package interrupt converts signals to the cancellation of a context, or to requests to
// reload. Programs can then end cleanly, without leaving files or processes behind.
package interrupt
