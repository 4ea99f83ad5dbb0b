package kubeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/conformance/internal/clients"
)

// reader is a client's store that must converge to the state of the source.
type reader struct {
	name     string
	resource api.Resource
	matches  func(write) bool
	store    cache.Store
	// expected converts a recorded write to the object that the store should contain.
	expected func(t *testing.T, w write) any
}

func all(write) bool { return true }

// readers starts one client of each kind.
func readers(r *rig, ctx context.Context) []reader {
	var started []reader
	start := func(name string, resource api.Resource, matches func(write) bool, informer cache.SharedIndexInformer, expected func(*testing.T, write) any) {
		go informer.RunWithContext(ctx)
		started = append(started, reader{name, resource, matches, informer.GetStore(), expected})
	}
	client := clients.Typed(r.T, r.config())
	podsEverywhere := cache.NewListWatchFromClient(client, "pods", "", fields.Everything())
	start("informer", pods, all, cache.NewSharedIndexInformer(podsEverywhere, &corev1.Pod{}, 0, nil), asPod)
	podsOfNode := cache.NewListWatchFromClient(client, "pods", "ns-1", fields.OneTermEqualSelector("spec.nodeName", "node-1"))
	start("informer with a field selector", pods, func(w write) bool {
		return w.key.Namespace() == "ns-1" && asPod(r.T, w).(*corev1.Pod).Spec.NodeName == "node-1"
	}, cache.NewSharedIndexInformer(podsOfNode, &corev1.Pod{}, 0, nil), asPod)

	dynamicClient, err := dynamic.NewForConfig(r.config())
	require.NoError(r, err)
	anyKind := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient, 0, "", func(o *metav1.ListOptions) {
		o.LabelSelector = "parity=1"
	})
	start("dynamic informer with a label selector", deployments, func(w write) bool {
		return asUnstructured(r.T, w).(*unstructured.Unstructured).GetLabels()["parity"] == "1"
	}, anyKind.ForResource(schema.GroupVersionResource(group(deployments))).Informer(), asUnstructured)

	metadataClient, err := metadata.NewForConfig(r.config())
	require.NoError(r, err)
	metadataOnly := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	start("metadata informer", configMaps, all, metadataOnly.ForResource(schema.GroupVersionResource(group(configMaps))).Informer(), asMetadata)

	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector := cache.NewReflectorWithOptions(cache.NewListWatchFromClient(client, "nodes", "", fields.Everything()),
		&corev1.Node{}, store, cache.ReflectorOptions{})
	reflector.WatchListPageSize = 10
	go reflector.RunWithContext(ctx)
	return append(started, reader{"reflector with pages", nodes, all, store, asNode})
}

func group(r api.Resource) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name}
}

func asPod(t *testing.T, w write) any {
	var pod corev1.Pod
	require.NoError(t, json.Unmarshal(w.value, &pod))
	pod.TypeMeta, pod.ResourceVersion = metav1.TypeMeta{}, w.rv.String()
	return &pod
}

func asNode(t *testing.T, w write) any {
	var node corev1.Node
	require.NoError(t, json.Unmarshal(w.value, &node))
	node.TypeMeta, node.ResourceVersion = metav1.TypeMeta{}, w.rv.String()
	return &node
}

func asUnstructured(t *testing.T, w write) any {
	var o unstructured.Unstructured
	require.NoError(t, o.UnmarshalJSON(w.value))
	o.SetResourceVersion(w.rv.String())
	return &o
}

func asMetadata(t *testing.T, w write) any {
	var o metav1.PartialObjectMetadata
	require.NoError(t, json.Unmarshal(w.value, &o))
	o.ResourceVersion = w.rv.String()
	o.TypeMeta = metav1.TypeMeta{}
	return &o
}

// untyped returns a typed object without its kind, which clients may omit.
func untyped(o any) any {
	if _, ok := o.(*unstructured.Unstructured); ok {
		return o
	}
	object := o.(runtime.Object).DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return object
}

// difference returns an error if the store differs from the source.
func (d *reader) difference(r *rig) error {
	want := map[string]any{}
	for key, w := range r.now(d.resource) {
		if d.matches(w) {
			want[string(key)] = d.expected(r.T, w)
		}
	}
	return clients.Difference(d.store, want, untyped)
}

// After random changes and injected failures, every client has the state of the source.
func TestClientsMatchTheSource(t *testing.T) {
	for _, watchList := range []bool{true, false} {
		t.Run(fmt.Sprintf("WatchList=%t", watchList), func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, watchList)
			eachBackend(t, func(r *rig) {
				ctx, cancel := context.WithCancel(r.Context())
				defer cancel()
				for n := range 500 {
					key := api.Key(fmt.Sprintf("ns-%d/object-%d", n%4, n%100))
					r.write(pods, key, object(pods, key, n))
				}
				all := readers(r, ctx)
				r.churn(1)
				for i := range all {
					d := &all[i]
					require.EventuallyWithT(r, func(c *assert.CollectT) {
						assert.NoError(c, d.difference(r), d.name)
					}, time.Minute, 50*time.Millisecond)
					assert.NotEmpty(r, d.store.List(), d.name)
					r.Logf("%s: %d objects, equal", d.name, len(d.store.List()))
				}
				r.met(watchList, len(all))
			})
		})
	}
}

// met checks that the injected failures occurred: clients restarted watches and, with the
// backend connector, watches expired.
func (r *rig) met(watchList bool, readers int) {
	seen := map[string]int{}
	for _, request := range r.asked() {
		for _, part := range []string{"watch=true", "sendInitialEvents=true", "limit=", "continue="} {
			if strings.Contains(request, part) {
				seen[part]++
			}
		}
	}
	r.Logf("requests: %v; answered 410: %d", seen, r.expired.Load())
	assert.Greater(r, seen["watch=true"], readers, "no watch was started again")
	if strings.HasSuffix(r.Name(), "/connector") { // the module's history is longer than the churn
		assert.Positive(r, r.expired.Load())
	}
	if watchList {
		assert.Positive(r, seen["sendInitialEvents=true"])
		return
	}
	assert.Zero(r, seen["sendInitialEvents=true"])
	assert.Positive(r, seen["limit="])
}
