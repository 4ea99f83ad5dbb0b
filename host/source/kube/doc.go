// Package kube is the source that reads a kube-apiserver: list and watch of any
// resource it serves, with the credentials and the transport of client-go.
//
// Objects stay the bytes that the server sent. Of each, key and version are
// read; apiVersion and kind, which the items of a typed list lack, are put in.
//
// # How a stream goes
//
// The state comes as a watch that begins with it (rule R4: sendInitialEvents,
// NotOlderThan, bookmarks). A server that refuses that, or ends the initial
// events or never marks their end, is asked for the classic paged list instead,
// now and from then on; a continue token that expires under way leads to one list
// without pages (rule R3). Every state is a consistent read (rule C36), since the
// end of a list says that nothing is missing: a server that lags behind answers
// 504, and is asked again. One that answers with an older state than what was
// handed over before is not believed, so nothing goes back in time.
//
// Changes come from watches that follow one another, each from the last version
// handed over (rules R5, R7, R8). A change that is not newer is dropped. What
// ends them: 410, which is the caller's to answer with a new list; an error of
// the server, to be retried from the same version, or after half a minute of
// nothing but internal errors with a new list (rule R9); a watch that the server
// ends at once and without a word.
//
// # Progress
//
// A kube-apiserver sends a bookmark about once a minute, and readers here are to
// know every ten seconds whether what they see is current. So a watch lasts
// nine seconds: shortly before its end the server sends a bookmark. Beside it, one
// consistent read of a single object asks for the newest version that there is,
// which a server that has lost its etcd cannot answer. Progress is reported when
// the watch has got that far, and not because it has ended: behind one address
// there may be several servers, and the one that answered the read not be the one
// that was watched. That costs the server one small list and one watch per
// resource in ten seconds, whatever the number of readers.
//
// A server whose consistent reads do not move its watch cache on may call nothing
// newer while a resource is at rest and others change. Readers then call their data
// stale, which it may be. Kubernetes is such a server before 1.31, which made the
// feature gate ConsistentListFromCache the default, and so is one whose etcd cannot
// be asked for progress.
//
// # Whose history it is
//
// Resource versions belong to a cluster, which is named by the uid of its
// kube-system namespace, or, when that may not be read, by the server's address.
//
// # What a resource looks like
//
// Well-known resources have the fields and columns of [catalog.All]. Those
// of a custom resource come from its definition: selectableFields and
// additionalPrinterColumns, and its streams end when the definition changes.
// Any other resource has its name, its namespace and its age: the server's own
// tables say what a cell contains, and not how to compute it from an object.
package kube
