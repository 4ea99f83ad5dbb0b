// Package objcache holds core/objcache against the watch-based manager of the
// kubelet, k8s.io/kubernetes/pkg/kubelet/util/manager.
//
// Both are told of the same references and registrations in random order, over a
// world whose secrets come, change and go. Both must answer every Get alike, and
// must list and watch the same objects as often.
//
//	go test -worlds 1000 -seed 7
//
// It is a module of its own because the kubelet is released with another version
// of the Kubernetes libraries than the newest one that the tests beside this one
// use.
//
// Not compared is what core/objcache does otherwise on purpose: references given
// up that were not held, sweeps of what was loaded and never read, and immutable
// objects that are deleted and made anew. Those that are immutable stay as they
// are here. Sweeps and the wait of a Get run on the real clock in the kubelet, so
// neither is there.
package objcache
