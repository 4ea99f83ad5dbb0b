// Package clustersim simulates a busy Kubernetes cluster for the demo, for
// benchmarks and for tests: Nodes, Namespaces, Deployments with their
// ReplicaSets, Jobs, Pods, ConfigMaps and Events, written as JSON of realistic
// shape and size.
//
// Populate writes the initial state; Run, or Step in a test, changes it the way
// a cluster does: containers crash and come back, rollouts replace pods one by
// one, nodes are drained, workloads are scaled, jobs finish. The sequence of
// operations depends on the seed alone. A write that failed leaves the
// simulation and the store apart, so after an error make a new one.
package clustersim
