package storage

import (
	"fmt"
	"testing"

	"k8s.io/apiserver/pkg/features"
	suites "k8s.io/apiserver/pkg/storage/testing"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
)

// suite runs one of Kubernetes' test functions on a new store.
type suite struct {
	name string
	run  func(t *testing.T)
}

func run(t *testing.T, all []suite) {
	for _, s := range all {
		t.Run(s.name, s.run)
	}
}

// left returns a test that skips a suite and reports the reason. It is for suites that
// the tests of kube-apiserver's cache also omit.
func left(why string) func(*testing.T) {
	return func(t *testing.T) { t.Skip(why) }
}

const (
	transforms = "it corrupts what the store reads by a transformer, which only those who read through the store notice; " +
		"the test of kube-apiserver's cache leaves it out as well"
	storeOnly = "it is for a storage that reads etcd itself, and the test of kube-apiserver's cache does not have it"
)

func TestWatch(t *testing.T) {
	run(t, []suite{
		{"Watch", func(t *testing.T) { suites.RunTestWatch(t.Context(), t, setup(t)) }},
		{"WatchFromZero", func(t *testing.T) {
			a := setup(t)
			suites.RunTestWatchFromZero(t.Context(), t, a, a.compactWatch)
		}},
		{"DeleteTriggerWatch", func(t *testing.T) { suites.RunTestDeleteTriggerWatch(t.Context(), t, setup(t)) }},
		{"WatchFromNonZero", func(t *testing.T) { suites.RunTestWatchFromNonZero(t.Context(), t, setup(t)) }},
		{"DelayedWatchDelivery", func(t *testing.T) { suites.RunTestDelayedWatchDelivery(t.Context(), t, setup(t)) }},
		{"WatchContextCancel", func(t *testing.T) { suites.RunTestWatchContextCancel(t.Context(), t, setup(t)) }},
		{"WatcherTimeout", func(t *testing.T) { suites.RunTestWatcherTimeout(t.Context(), t, setup(t)) }},
		{"WatchDeleteEventObjectHaveLatestRV", func(t *testing.T) {
			suites.RunTestWatchDeleteEventObjectHaveLatestRV(t.Context(), t, setup(t))
		}},
		{"WatchInitializationSignal", func(t *testing.T) { suites.RunTestWatchInitializationSignal(t.Context(), t, setup(t)) }},
		{"ClusterScopedWatch", func(t *testing.T) { suites.RunTestClusterScopedWatch(t.Context(), t, setupScoped(t, false)) }},
		{"NamespaceScopedWatch", func(t *testing.T) { suites.RunTestNamespaceScopedWatch(t.Context(), t, setup(t)) }},
		{"WatchDispatchBookmarkEvents", func(t *testing.T) {
			suites.RunTestWatchDispatchBookmarkEvents(t.Context(), t, setup(t), true)
		}},
		{"WatchBookmarksWithCorrectResourceVersion", func(t *testing.T) {
			suites.RunTestOptionalWatchBookmarksWithCorrectResourceVersion(t.Context(), t, setup(t))
		}},
		{"SendInitialEventsBackwardCompatibility", func(t *testing.T) {
			suites.RunSendInitialEventsBackwardCompatibility(t.Context(), t, setup(t))
		}},
		{"WatchSemantics", func(t *testing.T) { suites.RunWatchSemantics(t.Context(), t, seen{setup(t)}) }},
		{"WatchSemanticInitialEventsExtended", func(t *testing.T) {
			suites.RunWatchSemanticInitialEventsExtended(t.Context(), t, seen{setup(t)})
		}},
		{"WatchListMatchSingle", func(t *testing.T) { suites.RunWatchListMatchSingle(t.Context(), t, seen{setup(t)}) }},
		{"WatchError", left(transforms)},
		{"WatchErrorIsBlockingFurtherEvents", left(storeOnly)},
		{"WatchWithUnsafeDelete", left(storeOnly)},
		{"ProgressNotify", left(storeOnly)},
	})
}

func TestRead(t *testing.T) {
	// The suites count calls to etcd. This test ignores the counts, because TestLists asserts
	// them.
	calls := func(*testing.T, uint64, uint64) {}
	run(t, []suite{
		{"Get", func(t *testing.T) { suites.RunTestGet(t.Context(), t, setup(t)) }},
		{"GetListRecursivePrefix", func(t *testing.T) { suites.RunTestGetListRecursivePrefix(t.Context(), t, setup(t)) }},
		{"ListPaging", func(t *testing.T) { suites.RunTestListPaging(t.Context(), t, setup(t)) }},
		{"NamespaceScopedList", func(t *testing.T) { suites.RunTestNamespaceScopedList(t.Context(), t, setup(t)) }},
		{"KeySchema", func(t *testing.T) { suites.RunTestKeySchema(t.Context(), t, setup(t)) }},
		{"ListContinuation", func(t *testing.T) { suites.RunTestListContinuation(t.Context(), t, setup(t), calls) }},
		{"ListContinuationWithFilter", func(t *testing.T) {
			suites.RunTestListContinuationWithFilter(t.Context(), t, setup(t), calls)
		}},
		{"ListPaginationRareObject", func(t *testing.T) {
			suites.RunTestListPaginationRareObject(t.Context(), t, flat{setupScoped(t, false)}, calls)
		}},
		{"CompactRevision", func(t *testing.T) {
			a := setup(t)
			suites.RunTestCompactRevision(t.Context(), t, a, a.increaseRV, a.compactStore)
		}},
		{"ListInconsistentContinuation", left("it wants pages of a list at version 0, where a cache ignores the limit (rule C40); " +
			"the test of kube-apiserver's cache leaves it out as well")},
		{"ListResourceVersionMatch", left(transforms)},
		{"TransformationFailure", left(transforms)},
		{"GetListWithErrorAggregation", left(storeOnly)},
		{"GetListWithoutErrorAggregation", left(storeOnly)},
	})
}

func TestLists(t *testing.T) {
	for _, snapshots := range []bool{true, false} {
		t.Run(fmt.Sprintf("ListFromCacheSnapshot=%t", snapshots), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.ListFromCacheSnapshot, snapshots)
			run(t, []suite{
				{"List", func(t *testing.T) {
					a := setup(t)
					suites.RunTestList(t.Context(), t, a, a.compactStore, true, a.recorder)
				}},
				{"ConsistentList", func(t *testing.T) {
					a := (&adapter{t: t, namespaced: true, onRequest: true}).start()
					suites.RunTestConsistentList(t.Context(), t, a, a.increaseRV, true, true, snapshots)
				}},
				{"GetListNonRecursive", func(t *testing.T) {
					a := setup(t)
					suites.RunTestGetListNonRecursive(t.Context(), t, a.increaseRV, a)
				}},
			})
		})
	}
}

func TestStats(t *testing.T) {
	for _, size := range []bool{true, false} {
		t.Run(fmt.Sprintf("SizeBasedListCostEstimate=%t", size), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.SizeBasedListCostEstimate, size)
			suites.RunTestStats(t.Context(), t, counted{setup(t)}, codec, transformer, size)
		})
	}
}
