package storage

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/apitesting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/features"
	upstream "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	suites "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/utils/clock"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/conformance/internal/rig"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// codec encodes objects as JSON, which the connector reads.
var codec = func() runtime.Codec {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	utilruntime.Must(example.AddToScheme(scheme))
	utilruntime.Must(examplev1.AddToScheme(scheme))
	return apitesting.TestCodec(serializer.NewCodecFactory(scheme), examplev1.SchemeGroupVersion)
}()

var transformer = identity.NewEncryptCheckTransformer()

// pods returns the schema of the objects in the suites.
func pods(namespaced bool) api.Schema {
	s := api.Schema{
		Resource: api.Resource{Group: example.GroupName, Version: "v1", Name: "pods"}, Kind: "Pod", Namespaced: namespaced,
		Fields: []string{"metadata.name"},
	}
	if namespaced {
		s.Fields = append(s.Fields, "metadata.namespace")
	}
	s.Fields = append(s.Fields, "spec.nodeName", "spec.restartPolicy", "status.phase")
	return s
}

// setup returns an adapter with its own etcd.
func setup(t *testing.T) *adapter { return setupScoped(t, true) }

func setupScoped(t *testing.T, namespaced bool) *adapter {
	return (&adapter{t: t, namespaced: namespaced}).start()
}

// start starts an etcd, the store on it, and the connector and module that serve reads.
func (a *adapter) start() *adapter {
	t := a.t
	server, _ := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	compactor := etcd3.NewCompactor(server.V3Client.Client, 0, clock.RealClock{}, nil)
	t.Cleanup(compactor.Stop)
	versioner := upstream.APIObjectVersioner{}
	store, err := etcd3.New(server.V3Client, compactor, codec,
		func() runtime.Object { return &example.Pod{} }, func() runtime.Object { return &example.PodList{} },
		etcd3testing.PathPrefix(), resourcePrefix, schema.GroupResource{Resource: "pods"}, transformer,
		etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(codec, versioner), versioner)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	a.Interface, a.etcd, a.recorder = store, server.V3Client.Client, server.V3Client.Kubernetes.(*suites.KubernetesRecorder)
	a.restart()
	if utilfeature.DefaultFeatureGate.Enabled(features.SizeBasedListCostEstimate) {
		require.NoError(t, store.EnableResourceSizeEstimation(a.keys))
	}
	return a
}

// open starts a connector on etcd and a module that reads from it, and returns the
// module's collection of pods.
func (a *adapter) open() *client.Collection {
	schema := pods(a.namespaced)
	source, err := a.source(schema)
	require.NoError(a.t, err)
	reader := rig.Guest(a.t, connector.Config{
		Source: source, Logger: slog.New(slog.DiscardHandler),
		Keep: objectjson.Options{KeepManagedFields: true, KeepLastApplied: true},
	})
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	collection, err := reader.Collection(ctx, schema.Resource.String(), client.CollectionOptions{})
	require.NoError(a.t, err)
	require.NoError(a.t, collection.WaitForSync(ctx))
	return collection
}

func (a *adapter) source(schema api.Schema) (source.Source, error) {
	src, err := etcd.New(a.etcd, etcd.Config{
		Prefix: etcd3testing.PathPrefix(), Resources: []api.Schema{schema},
		Paths:  map[api.Resource]string{schema.Resource: "pods"},
		Logger: slog.New(slog.DiscardHandler),
	})
	if a.onRequest {
		return onRequest{src}, err
	}
	return src, err
}

// keys returns the keys of all pods in etcd, which the store's statistics count.
func (a *adapter) keys(ctx context.Context) ([]string, error) {
	resp, err := a.etcd.Get(ctx, etcd3testing.PathPrefix()+resourcePrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, kv := range resp.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys, nil
}

// increaseRV writes an unrelated key, and returns the revision of the write.
func (a *adapter) increaseRV(ctx context.Context, t *testing.T) int64 {
	resp, err := a.etcd.Put(ctx, "increaseRV", "ok")
	require.NoError(t, err)
	return resp.Header.Revision
}

// compactStore compacts etcd as kube-apiserver does, and waits until the store has
// detected the compaction.
func (a *adapter) compactStore(ctx context.Context, t *testing.T, resourceVersion string) {
	rv, err := a.Versioner().ParseResourceVersion(resourceVersion)
	require.NoError(t, err)
	compacted, _, _, err := etcd3.Compact(ctx, a.etcd, 0, int64(rv))
	if err != nil { // another client compacted in between
		_, _, _, err = etcd3.Compact(ctx, a.etcd, compacted, int64(rv))
	}
	require.NoError(t, err)
	if utilfeature.DefaultFeatureGate.Enabled(features.ListFromCacheSnapshot) {
		require.Eventually(t, func() bool { return a.CompactRevision() == int64(rv) }, time.Minute, 10*time.Millisecond)
	}
}

// compactWatch compacts etcd and makes the module discard its history.
func (a *adapter) compactWatch(ctx context.Context, t *testing.T, resourceVersion string) {
	rv, err := a.Versioner().ParseResourceVersion(resourceVersion)
	require.NoError(t, err)
	_, err = a.etcd.Compact(ctx, int64(rv))
	require.NoError(t, err)
	a.restart()
}

// flat is an adapter for a suite whose objects have no namespaces. It stores the objects
// under the keys of cluster-scoped objects.
type flat struct{ *adapter }

func (f flat) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	return f.adapter.Create(ctx, strings.Replace(key, "//", "/", 1), obj, out, ttl)
}

// counted is an adapter that reads all objects through the store before it returns
// statistics. The store's statistics cover only objects that the store has read.
type counted struct{ *adapter }

func (c counted) Stats(ctx context.Context) (upstream.Stats, error) {
	everything := upstream.ListOptions{Recursive: true, Predicate: upstream.Everything}
	if err := c.adapter.Interface.GetList(ctx, resourcePrefix, everything, &example.PodList{}); err != nil {
		return upstream.Stats{}, err
	}
	return c.adapter.Stats(ctx)
}

// seen is an adapter whose Create waits until the module has the object, as some suites
// require.
type seen struct{ *adapter }

func (s seen) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if err := s.adapter.Create(ctx, key, obj, out, ttl); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, wait.ForeverTestTimeout, true, func(ctx context.Context) (bool, error) {
		pod := &example.Pod{}
		err := s.Get(ctx, key, upstream.GetOptions{ResourceVersion: "0", IgnoreNotFound: true}, pod)
		return err == nil && pod.ResourceVersion == out.(*example.Pod).ResourceVersion, err
	})
}
