package apiserver

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/kube"
	"github.com/watchglass/watchglass/host/source/sourcetest"
)

// The suite checks the rules among R1 to R9 that apply while the server behaves correctly.
func TestContract(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) sourcetest.Harness {
		shared.clear(t)
		src := newSource(t, admin, kube.Config{})
		return sourcetest.Harness{
			Source: without{src}, Writer: writer{shared}, PageSize: kube.DefaultPageSize / 100, SingleKey: true, Decodes: true,
		}
	})
}

// With PagedLists, the source lists in pages instead of requesting initial events.
func TestContractOfAPagedList(t *testing.T) {
	shared.clear(t)
	src := newSource(t, admin, kube.Config{PageSize: 3, PagedLists: true})
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		_, err := shared.put(sourcetest.ConfigMaps, api.NewKey("paged", name), configMap("paged", name))
		require.NoError(t, err)
	}
	sink := &listSink{}
	require.ErrorIs(t, without{src}.Stream(t.Context(), sourcetest.ConfigMaps, 0, sink), errListed)
	assert.Equal(t, "paged/a paged/b paged/c paged/d paged/e paged/f paged/g", strings.Join(sink.keys, " "))
}

func newSource(t *testing.T, token string, config kube.Config) *kube.Source {
	t.Helper()
	config.REST = shared.config(token)
	src, err := kube.New(config)
	require.NoError(t, err)
	t.Cleanup(src.Close)
	return src
}

func configMap(namespace, name string) []byte {
	return []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","namespace":"` + namespace + `"}}`)
}

// clear deletes the objects that tests have written.
func (s *server) clear(t *testing.T) {
	t.Helper()
	for _, resource := range []api.Resource{sourcetest.ConfigMaps, sourcetest.Nodes} {
		for _, name := range s.names(t, resource, "") {
			if key := api.Key(name); key.Namespace() != "kube-system" {
				_, err := s.delete(resource, key)
				require.NoError(t, err)
			}
		}
	}
}

// writer is a source.Writer that writes one object at a time, because the API has no
// transactions. It adds a new number to each object, because the server ignores a write
// that changes nothing.
type writer struct{ server *server }

var written atomic.Int64

func numbered(value []byte) ([]byte, error) {
	var o map[string]any
	if err := json.Unmarshal(value, &o); err != nil {
		return nil, err
	}
	annotations := o["metadata"].(map[string]any)["annotations"].(map[string]any)
	annotations["written"] = strconv.FormatInt(written.Add(1), 10)
	return json.Marshal(o)
}

// Txn implements source.Writer.
func (w writer) Txn(_ context.Context, writes ...source.Write) (last api.ResourceVersion, err error) {
	for _, write := range writes {
		if write.Value == nil {
			last, err = w.server.delete(write.Resource, write.Key)
		} else if write.Value, err = numbered(write.Value); err == nil {
			last, err = w.server.put(write.Resource, write.Key, write.Value)
		}
		if err != nil {
			return 0, err
		}
	}
	return last, nil
}

// without is a source that omits the objects of kube-system, which belong to the server.
type without struct{ *kube.Source }

// Stream implements source.Source.
func (w without) Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink source.Sink) error {
	return w.Source.Stream(ctx, resource, from, withoutSystem{sink})
}

type withoutSystem struct{ source.Sink }

func (w withoutSystem) Object(key api.Key, rv api.ResourceVersion, value []byte) error {
	if key.InNamespace("kube-system") {
		return nil
	}
	return w.Sink.Object(key, rv, value)
}

func (w withoutSystem) Changes(changes []source.Change) error {
	var kept []source.Change
	for _, c := range changes {
		if !c.Key.InNamespace("kube-system") {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return w.Sink.Changes(kept)
}

func TestResolveAndSchemasOfARealServer(t *testing.T) {
	src := newSource(t, admin, kube.Config{})
	for text, want := range map[string]string{
		"po": "v1/pods", "deploy": "apps/v1/deployments", "ev": "v1/events", "events.events.k8s.io": "events.k8s.io/v1/events",
		"pdb": "policy/v1/poddisruptionbudgets", "crd": "apiextensions.k8s.io/v1/customresourcedefinitions",
	} {
		got, err := src.Resolve(t.Context(), text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got.String())
	}
	schema, err := src.Schema(t.Context(), api.Resource{Version: "v1", Name: "pods"})
	require.NoError(t, err)
	assert.Contains(t, schema.Fields, "status.phase")
}

const crontabs = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},
	"spec":{"group":"stable.example.com","scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","shortNames":["ct"]},
	"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},"replicas":{"type":"integer"}}}}}},
		"selectableFields":[{"jsonPath":".spec.color"}],
		"additionalPrinterColumns":[{"name":"Replicas","type":"integer","jsonPath":".spec.replicas"}]}]}}`

func TestACustomResource(t *testing.T) {
	shared.must(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crontabs)
	t.Cleanup(func() {
		shared.must(t, http.MethodDelete, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.example.com", "")
	})
	src := newSource(t, admin, kube.Config{})
	resource := api.Resource{Group: "stable.example.com", Version: "v1", Name: "crontabs"}
	require.Eventually(t, func() bool {
		got, err := src.Resolve(t.Context(), "crontabs.stable.example.com")
		return err == nil && got == resource
	}, patience, pollInterval)
	schema, err := src.Schema(t.Context(), resource)
	require.NoError(t, err)
	assert.Equal(t, []string{"metadata.name", "metadata.namespace", "spec.color"}, schema.Fields)
	assert.Equal(t, "Replicas", schema.Columns[0].Name)

	shared.must(t, http.MethodPost, "/apis/stable.example.com/v1/namespaces/a/crontabs",
		`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x"},"spec":{"color":"red","replicas":2}}`)
	w := newWorld(t, src, nil)
	r := w.reader("")
	s := w.subscribe(r, "stable.example.com/v1/crontabs", "", "spec.color=red")
	w.until(r, func() bool { return s.Synced })
	assert.Equal(t, []string{"a/x"}, keys(s))

	shared.must(t, http.MethodPut, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.example.com",
		withVersion(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.example.com",
			strings.Replace(crontabs, `"Replicas"`, `"Copies"`, 1)))
	w.until(r, func() bool { return s.Status != nil })
	assert.ErrorIs(t, s.Status, api.Expired(""), "the definition has changed, so readers relist")
	s = w.subscribe(r, "stable.example.com/v1/crontabs", "", "")
	w.until(r, func() bool { return s.Synced })
	assert.Equal(t, "Copies", s.Schema.Columns[0].Name)
}
