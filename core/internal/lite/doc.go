// Package lite contains small functions for lists and text, and a random number
// generator. They replace functions of packages slices, strings, strconv and math/rand
// that would make the WebAssembly module larger, or make its output depend on the
// platform. Code outside the module uses the standard library.
package lite
