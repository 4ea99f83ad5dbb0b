package kubeapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/pager"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
)

func (r *rig) dynamic() dynamic.Interface {
	client, err := dynamic.NewForConfig(r.config())
	require.NoError(r, err)
	return client
}

// equal checks that items are the objects of a resource at a version, sorted by key.
func (r *rig) equal(resource api.Resource, rv string, items []unstructured.Unstructured) {
	r.Helper()
	version, err := api.ParseResourceVersion(rv)
	require.NoError(r, err)
	state := r.state(resource, version)
	require.Len(r, items, len(state))
	var keys []string
	for i := range items {
		key := api.NewKey(items[i].GetNamespace(), items[i].GetName())
		keys = append(keys, string(key))
		require.Equal(r, asUnstructured(r.T, state[key]), &items[i])
	}
	assert.True(r, slices.IsSorted(keys))
}

// Every page of a list returns the state at the version of the first page, despite
// concurrent writes.
func TestPagesAreOneSnapshot(t *testing.T) {
	eachBackend(t, func(r *rig) {
		random := rand.New(rand.NewPCG(2, 0))
		for n := range 600 {
			r.change(random, n)
		}
		client := r.dynamic().Resource(group(pods))
		for run := range 10 {
			var items []unstructured.Unstructured
			options, rv := metav1.ListOptions{Limit: int64(20 + run)}, ""
			for {
				page, err := client.List(r.Context(), options)
				require.NoError(r, err)
				if rv == "" {
					rv = page.GetResourceVersion()
				}
				assert.Equal(r, rv, page.GetResourceVersion())
				items = append(items, page.Items...)
				r.change(random, 1000+run)
				if options.Continue = page.GetContinue(); options.Continue == "" {
					break
				}
			}
			r.equal(pods, rv, items)
		}
	})
}

func items(t *testing.T, list runtime.Object) []unstructured.Unstructured {
	var all []unstructured.Unstructured
	require.NoError(t, meta.EachListItem(list, func(o runtime.Object) error {
		all = append(all, *o.(*unstructured.Unstructured))
		return nil
	}))
	return all
}

func TestPagerListsEveryObject(t *testing.T) {
	eachBackend(t, func(r *rig) {
		random := rand.New(rand.NewPCG(3, 0))
		for n := range 800 {
			r.change(random, n)
		}
		client := r.dynamic().Resource(group(pods))
		p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) })
		p.PageSize = 17
		list, paged, err := p.List(r.Context(), metav1.ListOptions{})
		require.NoError(r, err)
		assert.True(r, paged)
		r.equal(pods, list.(metav1.ListInterface).GetResourceVersion(), items(r.T, list))

		// The history evicts the version of the first page before the second is requested, so
		// the pager falls back to a list without limit.
		pages := 0
		p = pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if pages++; pages == 2 {
				r.evictHistory(random)
			}
			return client.List(ctx, o)
		})
		p.PageSize = 17
		list, _, err = p.List(r.Context(), metav1.ListOptions{})
		require.NoError(r, err)
		r.equal(pods, list.(metav1.ListInterface).GetResourceVersion(), items(r.T, list))
		if strings.HasSuffix(r.Name(), "/connector") { // the other backends have a longer history
			assert.Equal(r, 3, pages, "the first page, the expired page, and the full list")
		}
	})
}

// evictHistory writes until the connector's history no longer contains earlier versions,
// and waits until the backend has the last write.
func (r *rig) evictHistory(random *rand.Rand) {
	var rv api.ResourceVersion
	for n := range 3000 {
		key := api.Key(fmt.Sprintf("ns-%d/object-%d", random.IntN(4), random.IntN(100)))
		rv = r.write(pods, key, object(pods, key, 10_000+n))
	}
	_, err := r.dynamic().Resource(group(pods)).List(r.Context(), metav1.ListOptions{
		ResourceVersion: rv.String(), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	require.NoError(r, err)
}

// versions returns the group versions of the reviews and of the catalog's resources.
func versions() []string {
	all := []string{"authentication.k8s.io/v1", "authorization.k8s.io/v1"}
	for _, s := range catalog.All() {
		all = append(all, s.Resource.APIVersion())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestDiscovery(t *testing.T) {
	eachBackend(t, func(r *rig) {
		for _, legacy := range []bool{false, true} {
			client, err := discovery.NewDiscoveryClientForConfig(r.config())
			require.NoError(r, err)
			client.UseLegacyDiscovery = legacy
			r.asked()
			groups, lists, err := client.ServerGroupsAndResources()
			require.NoError(r, err)
			assert.Len(r, groups, len(versions()), "one version each")
			if asked := r.asked(); !legacy {
				assert.Len(r, asked, 2, "all in two documents: %v", asked)
			}
			served := map[string][]string{}
			for _, list := range lists {
				for _, resource := range list.APIResources {
					served[list.GroupVersion+"/"+resource.Name] = resource.ShortNames
					verbs := metav1.Verbs{"get", "list", "watch"}
					if strings.HasPrefix(resource.Name, "selfsubject") {
						verbs = metav1.Verbs{"create"}
					}
					assert.Equal(r, verbs, resource.Verbs, resource.Name)
				}
			}
			assert.Equal(r, []string{"po"}, served["v1/pods"])
			assert.Equal(r, []string{"deploy"}, served["apps/v1/deployments"])
			preferred, err := client.ServerPreferredResources()
			require.NoError(r, err)
			assert.Len(r, preferred, len(versions()))
			version, err := client.ServerVersion()
			require.NoError(r, err)
			assert.True(r, strings.HasPrefix(version.GitVersion, "v1.37."), version)

			cached := memory.NewMemCacheClient(client)
			mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
			for short, want := range map[string]schema.GroupVersionResource{
				"po": group(pods), "deploy": group(deployments), "cm": group(configMaps), "node": group(nodes),
			} {
				got, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: short})
				require.NoError(r, err, short)
				assert.Equal(r, want, got)
			}
			mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
			require.NoError(r, err)
			assert.Equal(r, "namespace", string(mapping.Scope.Name()))
		}
	})
}
