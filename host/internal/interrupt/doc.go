// Package interrupt cancels a context, or requests a reload, when the process receives a
// signal. Programs can then exit cleanly, without leaving files or processes behind.
package interrupt
