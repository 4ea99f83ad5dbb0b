package apiserver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/client/backend"
	"github.com/watchglass/watchglass/host/conformance/internal/clients"
	modules "github.com/watchglass/watchglass/host/conformance/internal/rig"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source/kube"
)

var pods = api.Resource{Version: "v1", Name: "pods"}

// follower is a client that reads from the module. The function truth returns the objects
// that the store must contain at the end of the test.
type follower struct {
	name  string
	store cache.Store
	truth func() ([]runtime.Object, error)
}

// follow starts one client of each kind.
func follow(t *testing.T, ctx context.Context, ours *rest.Config) []follower {
	ourClient, theirClient := clients.Typed(t, ours), clients.Typed(t, shared.config(admin))
	informer := cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(ourClient, "pods", "", fields.Everything()), &corev1.Pod{}, 0, nil)
	go informer.RunWithContext(ctx)
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector := cache.NewReflectorWithOptions(cache.NewListWatchFromClient(ourClient, "configmaps", "churn-1", fields.Everything()),
		&corev1.ConfigMap{}, store, cache.ReflectorOptions{})
	reflector.WatchListPageSize = 10
	go reflector.RunWithContext(ctx)
	return []follower{
		{"informer", informer.GetStore(), func() ([]runtime.Object, error) {
			return extract(theirClient.Get().Resource("pods").Do(ctx), &corev1.PodList{})
		}},
		{"reflector with pages", store, func() ([]runtime.Object, error) {
			return extract(theirClient.Get().Namespace("churn-1").Resource("configmaps").Do(ctx), &corev1.ConfigMapList{})
		}},
		dynamicFollower(t, ctx, ours, "dynamic informer", metav1.ListOptions{}),
		dynamicFollower(t, ctx, ours, "dynamic informer with a label selector", metav1.ListOptions{LabelSelector: "parity=1"}),
	}
}

func extract(result rest.Result, into runtime.Object) ([]runtime.Object, error) {
	if err := result.Into(into); err != nil {
		return nil, err
	}
	return meta.ExtractList(into)
}

func dynamicFollower(t *testing.T, ctx context.Context, ours *rest.Config, name string, options metav1.ListOptions) follower {
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	ourClient, err := dynamic.NewForConfig(ours)
	require.NoError(t, err)
	theirClient, err := dynamic.NewForConfig(shared.config(admin))
	require.NoError(t, err)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(ourClient, 0, "", func(o *metav1.ListOptions) {
		o.LabelSelector = options.LabelSelector
	})
	informer := factory.ForResource(resource).Informer()
	go informer.RunWithContext(ctx)
	return follower{name, informer.GetStore(), func() ([]runtime.Object, error) {
		list, err := theirClient.Resource(resource).List(ctx, options)
		if err != nil {
			return nil, err
		}
		return meta.ExtractList(list)
	}}
}

// comparable returns an object without its kind, which typed clients may omit, and
// without managed fields, which the connector removes.
func comparable(o any) any {
	object := o.(runtime.Object).DeepCopyObject()
	object.(metav1.Object).SetManagedFields(nil)
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return object
}

// difference returns an error that names an object in which the client's store differs
// from the server, or nil if there is none.
func (f *follower) difference() error {
	truth, err := f.truth()
	if err != nil {
		return err
	}
	want := map[string]any{}
	for _, o := range truth {
		key, err := cache.MetaNamespaceKeyFunc(o)
		if err != nil {
			return err
		}
		want[key] = comparable(o)
	}
	return clients.Difference(f.store, want, comparable)
}

// churn creates, changes and deletes random objects for the duration in
// CONFORMANCE_CHURN, or for five seconds. Halfway, it kills and restarts the server.
func churn(t *testing.T) (writes int) {
	length, err := time.ParseDuration(os.Getenv("CONFORMANCE_CHURN"))
	if err != nil {
		length = 5 * time.Second
	}
	for n := range 3 { // pods need an existing namespace
		name := fmt.Sprint("churn-", n)
		_, err := shared.put(api.Resource{Version: "v1", Name: "namespaces"}, api.Key(name),
			fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name))
		require.NoError(t, err)
		t.Cleanup(func() {
			for _, resource := range []api.Resource{pods, configMaps} {
				shared.must(t, http.MethodDelete, collectionPath(resource, name), "")
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 0))
	begun, restarted := time.Now(), false
	for ; time.Since(begun) < length; writes++ {
		if !restarted && time.Since(begun) > length/2 {
			restarted = true
			shared.Stop()
			require.NoError(t, shared.Launch())
		}
		resource := []api.Resource{pods, configMaps}[random.IntN(2)]
		key := api.Key(fmt.Sprintf("churn-%d/object-%d", random.IntN(3), random.IntN(40)))
		if random.IntN(4) == 0 {
			_, _, err = shared.request(http.MethodDelete, collectionPath(resource, key.Namespace())+"/"+key.Name(), nil) // the object may not exist
		} else {
			_, err = shared.put(resource, key, churned(resource, key, writes))
		}
		require.NoError(t, err)
	}
	return writes
}

func churned(resource api.Resource, key api.Key, n int) []byte {
	head := fmt.Sprintf(`"metadata":{"name":%q,"namespace":%q,"labels":{"parity":"%d"},"annotations":{"n":"%d","text":"<&>"}}`,
		key.Name(), key.Namespace(), n%2, n)
	if resource == pods {
		return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod",%s,"spec":{"containers":[{"name":"main","image":"example.com/app:1"}]}}`, head)
	}
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap",%s,"data":{"n":"%d"}}`, head, n)
}

// Each change passes from the server through the connector, the module in wazero and
// host/kubeapi to client-go. In the end, every client has the objects of the server.
func TestModuleClientsMatchTheServer(t *testing.T) {
	for _, watchList := range []bool{true, false} {
		t.Run(fmt.Sprintf("WatchList=%t", watchList), func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, watchList)
			w := newWorld(t, newSource(t, admin, kube.Config{WatchTimeout: 4 * time.Second}), nil)
			b := backend.New(modules.Client(t, w.connector), catalog.All())
			handler := kubeapi.New(kubeapi.Config{Backend: b})
			server := httptest.NewServer(handler)
			t.Cleanup(func() {
				handler.Stop()
				server.CloseClientConnections()
				server.Close()
				require.NoError(t, b.Close())
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			all := follow(t, ctx, &rest.Config{Host: server.URL, QPS: -1})
			writes := churn(t)
			for i := range all {
				f := &all[i]
				require.EventuallyWithT(t, func(c *assert.CollectT) {
					assert.NoError(c, f.difference(), f.name)
				}, patience, 100*time.Millisecond)
				assert.NotEmpty(t, f.store.List(), f.name)
				t.Logf("%s: %d objects, equal after %d writes", f.name, len(f.store.List()), writes)
			}
		})
	}
}
