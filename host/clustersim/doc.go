// Package clustersim simulates a busy Kubernetes cluster for the demo, for
// benchmarks and for tests. It writes Nodes, Namespaces, Deployments with their
// ReplicaSets, Jobs, Pods, ConfigMaps and Events as JSON of realistic structure and
// size.
//
// Populate writes the initial state. Run, or Step in a test, changes the state like a
// real cluster. Containers crash and restart, rollouts replace pods one by one, nodes
// are drained, workloads are scaled, and jobs finish. Simulations with the same [Config],
// which contains the seed, perform the same sequence of operations. After a failed write
// the simulation and the store differ, so create a new simulation.
package clustersim
