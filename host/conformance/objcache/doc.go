// Package objcache compares core/objcache with the watch-based manager of the
// kubelet, k8s.io/kubernetes/pkg/kubelet/util/manager.
//
// Both receive the same references and registrations in random order, while secrets are
// created, updated and deleted. Both caches must return the same result for every Get, and
// must list and watch the same objects equally often.
//
//	go test -worlds 1000 -seed 7
//
// The package is a separate module because the kubelet requires a different version of
// the Kubernetes libraries than the other conformance tests do.
//
// The tests avoid the deliberate differences of core/objcache. They never release
// references that do not exist, never sweep objects that were never read, and never delete
// and recreate immutable objects. In the kubelet, sweeps and the timeout of a Get use
// the real clock, so the tests use neither.
package objcache
