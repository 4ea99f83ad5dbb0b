// Package delta stores the dictionaries and bases that stored bodies depend on.
//
// A body may be compressed with a dictionary. A body may also be a delta from the
// body of an earlier version of the same object, called its base. Consecutive
// versions in the history usually share a base: the base of a version is the base of
// the previous version, or the previous version itself. Exceptions are bodies that are
// not deltas, and bodies that arrive together with their base. A version and its base
// are compressed with the same dictionary.
//
// [Bodies] does not read bodies; package body decodes them.
package delta
