// Package kube lists and watches any resource of a kube-apiserver, with the credentials and the
// transport of client-go.
//
// The package reads only the key and the version of each object. It adds apiVersion and
// kind, which the items of a typed list lack. Otherwise, it does not change the JSON.
//
// # A stream
//
// Package kubewatch decides when to list and watch. A stream sends the requests that
// kubewatch creates, and passes the received objects to the sink. If the server does not
// support watches with initial events, the stream and later streams of the resource list
// in pages. No stream delivers a state that is older than the last delivered version.
//
// Between two watches, the stream checks whether the definition of a custom resource has
// changed.
//
// # Progress
//
// A kube-apiserver sends a bookmark about once a minute, but readers must learn every ten
// seconds whether their data is current. A watch therefore lasts only nine seconds,
// because the server also sends a bookmark shortly before the end of a watch. Progress
// costs the server one small list and one watch per resource every ten seconds,
// regardless of the number of readers.
//
// On some servers, a consistent read does not advance the watch cache. These servers may
// report no newer version while a resource is idle and others change. Readers then report
// that their data is stale, even if it is current. Kubernetes before 1.31 is affected,
// because ConsistentListFromCache is not its default. A server is also affected if its etcd
// does not support requests for progress.
//
// # Clusters
//
// Resource versions belong to a cluster. The cluster ID contains the UID of the namespace
// kube-system, or the address of the server if that namespace is missing or forbidden.
//
// # Schemas
//
// Well-known resources have the fields and columns of [catalog.All]. A custom resource
// has the selectableFields and additionalPrinterColumns of its definition. Its streams
// end when its definition changes. Any other resource has only name, namespace and age.
// The tables of the server have more columns, but do not specify how a cell is computed
// from the object.
//
// # Metrics
//
// The resources of metrics.k8s.io have neither versions nor watches. A stream lists them
// at Config.MetricsInterval and delivers the differences. The source assigns the
// versions, and its cluster ID for metrics is unique to the process. Metrics have no
// history: a stream that resumes from a version ends with 410.
package kube
