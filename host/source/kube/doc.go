// Package kube reads a kube-apiserver: list and watch of any resource it serves, with
// the credentials and the transport of client-go.
//
// Objects stay the bytes that the server sent. Of each, the package reads key and
// version, and adds apiVersion and kind, which the items of a typed list lack.
//
// # A stream
//
// The state is read as a watch that begins with it (rule R4: sendInitialEvents,
// NotOlderThan, bookmarks). A server that refuses that, ends the initial events early
// or never marks their end is asked for a paged list instead, from then on. A continue
// token that expires meanwhile leads to one list without pages (rule R3). Every state
// is a consistent read (rule C36), since the end of a list states that nothing is
// missing. A server that lags behind answers 504 and is asked again. A state that is
// older than what was passed on before is rejected, so nothing goes back in time.
//
// Changes are read by consecutive watches, each from the last version passed on (rules
// R5, R7, R8). A change that is not newer is dropped. A stream ends with 410, which
// the caller answers with a new list; with an error of the server, to be retried from
// the same version, or after half a minute of internal errors with a new list (rule
// R9); or with a watch that the server ends at once without a reason.
//
// # Progress
//
// A kube-apiserver sends a bookmark about once a minute, and readers are to know every
// ten seconds whether their data is current. So a watch lasts nine seconds: the server
// sends a bookmark shortly before its end. Meanwhile one consistent read of a single
// object asks for the newest version, which a server that has lost its etcd cannot
// answer. Progress is reported when the watch has reached that version, and not because
// the watch has ended: behind one address there may be several servers, and the watched
// one may lag. This costs the server one small list and one watch per resource in ten
// seconds, whatever the number of readers.
//
// If consistent reads of a server do not advance its watch cache, it may report nothing
// newer while a resource is idle and others change. Readers then call their data stale,
// which it may be. Kubernetes before 1.31 behaves like this, because
// ConsistentListFromCache was not the default, and so does a server whose etcd cannot
// be asked for progress.
//
// # Clusters
//
// Resource versions belong to a cluster. Its name is the uid of its kube-system
// namespace, or the address of the server if that may not be read.
//
// # Schemas
//
// Well-known resources have the fields and columns of [catalog.All]. Those of a custom
// resource come from its definition: selectableFields and additionalPrinterColumns. Its
// streams end when the definition changes. Any other resource has name, namespace and
// age, because the tables of the server do not say how a cell is computed.
package kube
