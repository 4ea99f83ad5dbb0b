// Package memory keeps the memory of the process below the limit max-memory. Above the
// limit, the process refuses new work, so that the kernel does not kill the process.
//
// The package measures the memory that the Go runtime has obtained from the system and
// has not returned. Unlike the resident set, this measure excludes pages of files, which the
// kernel can drop at any time. The garbage collector's target is below the limit, so memory
// above the limit is in use, not garbage.
package memory
