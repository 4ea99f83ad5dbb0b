// Package owners finds the objects below an owner in several collections.
//
// An object has at most one owner: its controller, or else its first owner reference. The
// same object may be in several collections, in different versions. The object is then
// below the owners of all these versions. An object is below another object if its chain
// of owners reaches that object. A chain may be cyclic, and may include owners that no
// collection contains.
//
// The index takes memory for each object with an owner, so it exists only while a [Graph]
// follows the collections.
package owners
