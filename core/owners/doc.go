// Package owners finds the objects below an owner in several collections.
//
// An object has at most one owner: its controller, or else its first owner reference.
// The same object may be in several collections, in different versions. The object is
// then below the owners of all these versions. An object is below another object if
// its chain of owners reaches that object. Cycles, and owners that no collection
// contains, need no special handling.
//
// The index takes memory for each object with an owner, so it exists only while a
// [Graph] has users.
package owners
