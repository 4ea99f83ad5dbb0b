package kubeapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source"
)

// still is a backend that always returns the same pod.
type still struct{}

func (still) Resources(context.Context) ([]kubeapi.Resource, error) {
	var all []kubeapi.Resource
	for _, s := range catalog.All() {
		all = append(all, kubeapi.Resource(source.Describe(&s)))
	}
	return all, nil
}

func (still) Schema(_ context.Context, resource api.Resource) (*api.Schema, error) {
	return catalog.Lookup(catalog.All(), resource)
}

func (still) Get(context.Context, api.Resource, api.Key, string) (kubeapi.Object, error) {
	return stone{}, nil
}

func (still) List(context.Context, api.Resource, kubeapi.ListOptions) (*kubeapi.List, error) {
	return &kubeapi.List{ResourceVersion: 7, Items: func(yield func(kubeapi.Object, error) bool) {
		for range 2 {
			if !yield(stone{}, nil) {
				return
			}
		}
	}}, nil
}

func (still) Watch(context.Context, api.Resource, kubeapi.WatchOptions) (kubeapi.Watch, error) {
	return &stillWatch{events: []kubeapi.Event{
		{Type: api.Added, Object: stone{}, ResourceVersion: 7},
		{Type: api.Bookmark, ResourceVersion: 8, InitialEventsEnd: true},
		{Type: api.Error, Status: api.Expired("over")},
	}}, nil
}

type stillWatch struct{ events []kubeapi.Event }

func (w *stillWatch) Next(context.Context) ([]kubeapi.Event, error) {
	events := w.events
	if w.events = nil; events == nil {
		return nil, io.EOF
	}
	return events, nil
}

func (w *stillWatch) Close() {}

type stone struct{}

func (stone) Key() api.Key { return "a/one" }
func (stone) Column(i int) api.Value {
	return api.Value{Kind: api.ValueKind(i % 7), Text: "\x00\"\xff"}
}
func (stone) JSON() []byte {
	return []byte(`{"metadata":{"resourceVersion":"7","name":"one","namespace":"a"}}`)
}

var fuzzed = kubeapi.New(kubeapi.Config{Backend: still{}})

// The response to any request is JSON: the requested data, or a Status with a 4xx code.
func FuzzRequests(f *testing.F) {
	for _, seed := range [][3]string{
		{"/api/v1/pods", "limit=2&continue=x", "application/json"},
		{"/api/v1/pods", "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks", "*/*;q=0.1"},
		{"/api/v1/namespaces/a/pods/one", "watch&fieldSelector=metadata.name%3Done", "application/json;as=Table;g=meta.k8s.io;v=v1"},
		{"/apis", "", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
		{"/apis/apps/v1/deployments", "includeObject=None&timeoutSeconds=9999999999999", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
		{"/version", "pretty=true", "text/html;;;,"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, path, query, accept string) {
		r := &http.Request{
			Method: http.MethodGet, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{"Accept": {accept}},
		}
		w := httptest.NewRecorder()
		fuzzed.ServeHTTP(w, r)
		assert.Contains(t, []int{200, 400, 404, 406, 422}, w.Code)
		documents := json.NewDecoder(w.Body)
		kinds := 0
		for {
			var document struct{ Kind, Type string }
			err := documents.Decode(&document)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			kinds++
			if w.Code != 200 {
				assert.Equal(t, "Status", document.Kind)
			}
		}
		assert.Positive(t, kinds)
	})
}
