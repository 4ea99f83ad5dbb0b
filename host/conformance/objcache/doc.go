// Package objcache compares core/objcache with the watch-based manager of the
// kubelet, k8s.io/kubernetes/pkg/kubelet/util/manager.
//
// Both receive the same references and registrations in random order, while secrets
// are created, updated and deleted. Both must return the same result for every Get,
// and must list and watch the same objects the same number of times.
//
//	go test -worlds 1000 -seed 7
//
// The package is a separate module because the kubelet requires another version of
// the Kubernetes libraries than the other conformance tests.
//
// Deliberate differences of core/objcache are not compared. They are the release of
// references that do not exist, sweeps of objects that were never read, and
// immutable objects that are deleted and created again. Immutable objects never
// change in these tests. Sweeps and the timeout of a Get use the real clock in the
// kubelet, so the tests use neither.
package objcache
