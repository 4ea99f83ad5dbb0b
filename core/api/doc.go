// Package api defines the types that all other packages share: resources and
// their schemas, keys, resource versions, event types, objects and status errors.
//
// It is a leaf package: of this module it imports only core/internal/lite, and it does no
// I/O. Its types are plain values:
//
//   - [Resource] names a kind of object as clients request it ("v1/pods").
//     [Schema] lists the fields that selectors may use and the table columns.
//   - [Key] names one object inside a resource. [ResourceVersion] orders the changes to a
//     resource. [Shard] is a subset of the namespaces of a resource.
//   - [Object] is one version of an object: the data needed to select, sort and
//     route it, and its opaque JSON body.
//   - [Status] is the error type at every package and process boundary. A Status
//     carries the Kubernetes code and reason, and a message for the user.
package api
