// Package api holds the words every other room speaks: resources and their
// schemas, keys, resource versions, event types, objects and status errors.
//
// It is a leaf: it imports nothing of this module, does no I/O, and its types
// are plain values. A newcomer can read it top to bottom:
//
//   - [Resource] names a kind of object the way a client asks for it
//     ("v1/pods"), [Schema] says which fields can be selected on and which
//     columns a table shows.
//   - [Key] names one object inside a resource, [ResourceVersion] orders the
//     changes of a resource. [Shard] is a part of its namespaces.
//   - [Object] is an object as the watch machinery sees it: what is needed to
//     select, sort and route, with the JSON body kept opaque.
//   - [Status] is the one error type that crosses a boundary. It carries the
//     Kubernetes code and reason, and a message written for the person who
//     reads it.
package api
