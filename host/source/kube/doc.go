// Package kube lists and watches any resource of a kube-apiserver, with the credentials and the
// transport of client-go.
//
// The JSON of objects is not changed. The package reads the key and the version of
// each object, and adds apiVersion and kind, which the items of a typed list lack.
//
// # A stream
//
// Package kubewatch lists and watches. A stream performs its requests and passes the
// objects to the sink. If the server does not support watches with initial events,
// later streams of the resource use paged lists as well. No stream delivers a state
// that is older than the last delivered version.
//
// Between two watches, the stream checks the definition of a custom resource.
//
// # Progress
//
// A kube-apiserver sends a bookmark about once a minute, but readers must learn
// every ten seconds whether their data is current. A watch therefore lasts nine
// seconds, because the server sends a bookmark shortly before its end. Progress
// costs the server one small list and one watch per resource in ten seconds,
// regardless of the number of readers.
//
// If consistent reads of a server do not advance its watch cache, it may report nothing newer while
// a resource is idle and others change. Readers then report stale data, and their data may in fact
// be stale. Kubernetes before 1.31 behaves like this, because ConsistentListFromCache was not the
// default. So does a server whose etcd does not support requests for progress.
//
// # Clusters
//
// Resource versions belong to a cluster. The cluster ID contains the UID of the namespace
// kube-system, or the address of the server if that namespace is missing or forbidden.
//
// # Schemas
//
// Well-known resources have the fields and columns of [catalog.All]. A custom resource has the
// selectableFields and additionalPrinterColumns of its definition. Its streams end when its
// definition changes. Any other resource has name, namespace and age, because the tables of the
// server do not specify how a cell is computed.
//
// # Metrics
//
// The resources of metrics.k8s.io have neither versions nor watches. A stream lists them at
// Config.MetricsInterval and delivers the differences. The source assigns the versions, and its
// cluster ID for metrics is unique to the process. Metrics have no history: a stream that begins at
// a version ends with 410.
package kube
