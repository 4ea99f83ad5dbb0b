// Package kube reads a kube-apiserver: list and watch of any resource it serves,
// with the credentials and the transport of client-go.
//
// Objects stay the bytes that the server sent. The package reads the key and the
// version of each object, and adds apiVersion and kind, which the items of a typed
// list lack.
//
// # A stream
//
// The state is read as a watch that begins with it (rule R4: sendInitialEvents,
// NotOlderThan, bookmarks). If a server refuses that, ends the initial events early
// or never marks their end, the package uses paged lists from then on. A continue
// token that expires meanwhile leads to one list without pages (rule R3). Every
// state is a consistent read (rule C36), because the end of a list states that the
// list is complete. A server that lags behind answers 504 and is asked again. A
// state that is older than the last delivered version is rejected, so that time
// never goes backwards.
//
// Changes are read by consecutive watches, each from the last delivered version
// (rules R5, R7, R8). A change that is not newer is dropped. A stream ends with a
// 410, after which the caller lists again; with an error of the server, to be
// retried from the same version, or after half a minute of internal errors with a
// new list (rule R9); or with a watch that the server ends immediately without a
// reason.
//
// # Progress
//
// A kube-apiserver sends a bookmark about once a minute, but readers must learn
// every ten seconds whether their data is current. A watch therefore lasts nine
// seconds, because the server sends a bookmark shortly before its end. Meanwhile one
// consistent read of a single object requests the latest version, which a server
// that has lost its etcd cannot answer. Progress is reported when the watch has
// reached that version. The end of the watch alone is not sufficient: one address
// may belong to several servers, and the watched one may lag. This costs the server
// one small list and one watch per resource in ten seconds, whatever the number of
// readers.
//
// If consistent reads of a server do not advance its watch cache, it may report
// nothing newer while a resource is idle and others change. Readers then report
// stale data, which is possible. Kubernetes before 1.31 behaves like this, because
// ConsistentListFromCache was not the default. So does a server whose etcd does not
// support requests for progress.
//
// # Clusters
//
// Resource versions belong to a cluster. Its name is the UID of its kube-system
// namespace, or the address of the server if reading that namespace is forbidden.
//
// # Schemas
//
// Well-known resources have the fields and columns of [catalog.All]. Those of a
// custom resource come from its definition: selectableFields and
// additionalPrinterColumns. Its streams end when the definition changes. Any other
// resource has name, namespace and age, because the tables of the server do not
// specify how a cell is computed.
package kube
