package apiserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source/kube"
)

// twins sends the same requests to kube-apiserver and to host/kubeapi, whose connector reads
// from that kube-apiserver.
type twins struct {
	*testing.T
	ours *httptest.Server
}

func newTwins(t *testing.T) *twins {
	w := newWorld(t, newSource(t, admin, kube.Config{}), nil)
	handler := kubeapi.New(kubeapi.Config{Backend: w.connector.Backend()})
	ours := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Stop()
		ours.Close()
	})
	return &twins{t, ours}
}

// answer is the status code and the JSON documents of a response.
type answer struct {
	code      int
	documents []map[string]any
}

func (p *twins) ask(client *http.Client, host, path, accept string) answer {
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, host+path, nil)
	require.NoError(p, err)
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := client.Do(request)
	require.NoError(p, err)
	defer response.Body.Close()
	a := answer{code: response.StatusCode}
	if response.Header.Get("Content-Type") != "application/json" {
		return a // the test does not compare errors for paths outside the API
	}
	for documents := json.NewDecoder(response.Body); ; {
		var d map[string]any
		err := documents.Decode(&d)
		if err == io.EOF {
			return a
		}
		require.NoError(p, err, "%s %s", host, path)
		if n := len(a.documents); n > 0 && isBookmark(d) && isBookmark(a.documents[n-1]) {
			continue // the number of consecutive bookmarks depends on the time
		}
		a.documents = append(a.documents, plain(d).(map[string]any))
	}
}

func isBookmark(event map[string]any) bool { return event["type"] == "BOOKMARK" }

// same sends a request to both servers, and checks that the responses are equal after
// plain has converted them.
func (p *twins) same(path, accept string) {
	p.Helper()
	theirs := p.ask(shared.http, shared.config(admin).Host, path, accept)
	ours := p.ask(p.ours.Client(), p.ours.URL, path, accept)
	if theirs.documents == nil {
		ours.documents = nil
	}
	assert.Equal(p, theirs, ours, "%s, accepting %q", path, accept)
}

// plain removes the parts of a JSON value that differ by design: managed fields, the kind
// of list items, resource versions of lists and bookmarks, messages of Status, and column
// descriptions.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for name, value := range v {
			v[name] = plain(value)
		}
		kind, _ := v["kind"].(string)
		metadata, _ := v["metadata"].(map[string]any)
		switch {
		case kind == "Status":
			return plainStatus(v)
		case strings.HasSuffix(kind, "List") || kind == "Table" || v["type"] == "BOOKMARK":
			delete(metadata, "resourceVersion")
			delete(metadata, "continue")
		}
		if _, ok := v["priority"]; ok {
			delete(v, "description") // a column definition
		}
		plainAges(v)
		plainItems(v)
		if v["type"] == "BOOKMARK" {
			plainBookmark(v["object"].(map[string]any))
		}
		delete(metadata, "managedFields")
	}
	return v
}

// plainAges replaces the ages in a row, which change with time.
func plainAges(v map[string]any) {
	cells, _ := v["cells"].([]any)
	for i, cell := range cells {
		if text, ok := cell.(string); ok && ages.MatchString(text) {
			cells[i] = "age"
		}
	}
}

var ages = regexp.MustCompile(`^\d+[smh]`)

func plainItems(v map[string]any) {
	items, _ := v["items"].([]any)
	for _, item := range items {
		item := item.(map[string]any)
		if item["kind"] != "PartialObjectMetadata" {
			delete(item, "kind")
			delete(item, "apiVersion")
		}
	}
}

// plainBookmark removes the parts of a bookmark that may differ: the resource version, and
// fields with zero values, which are optional (rule P8).
func plainBookmark(o map[string]any) {
	for name := range o {
		if name != "kind" && name != "apiVersion" && name != "metadata" {
			delete(o, name)
		}
	}
	metadata := o["metadata"].(map[string]any)
	delete(metadata, "resourceVersion")
	if metadata["creationTimestamp"] == nil {
		delete(metadata, "creationTimestamp")
	}
}

func plainStatus(v map[string]any) map[string]any {
	plain := map[string]any{"kind": "Status", "apiVersion": v["apiVersion"], "status": v["status"], "reason": v["reason"], "code": v["code"]}
	if details, ok := v["details"].(map[string]any); ok && len(details) > 0 && v["code"] == 404.0 {
		plain["details"] = details
	}
	return plain
}

// settled waits until both servers serve a resource at the given version or a newer one.
func (p *twins) settled(resource api.Resource, rv api.ResourceVersion) {
	path := collectionPath(resource, "") + "?resourceVersionMatch=NotOlderThan&resourceVersion=" + rv.String()
	for _, a := range []answer{
		p.ask(shared.http, shared.config(admin).Host, path, ""), p.ask(p.ours.Client(), p.ours.URL, path, ""),
	} {
		require.Equal(p, 200, a.code, a)
	}
}

const (
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	asTable      = "application/json;as=Table;g=meta.k8s.io;v=v1"
	watchList    = "?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
)

// Both servers send equal responses to the same requests. The test omits two requests for
// which host/kubeapi documents different responses. One has a version that is not a
// number, to which the server responds with 500. The other is a watch on the path of an
// object.
func TestKubernetesAPIRespondsLikeTheServer(t *testing.T) {
	shared.clear(t)
	p := newTwins(t)
	const one, many, inA = "/api/v1/namespaces/a/configmaps/map-0", "/api/v1/configmaps", "/api/v1/namespaces/a/configmaps"
	require.Equal(t, 200, p.ask(p.ours.Client(), p.ours.URL, many, "").code) // its history begins with this list
	var last api.ResourceVersion
	for n := range 6 {
		name := fmt.Sprintf("map-%d", n)
		var err error
		last, err = shared.put(configMaps, api.NewKey([]string{"a", "b"}[n%2], name), fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q,"labels":{"n":"%d"},"annotations":{"a":"<b>"}},"data":{"k":"v%d"}}`,
			name, []string{"a", "b"}[n%2], n%3, n))
		require.NoError(t, err)
	}
	p.settled(configMaps, last)
	selector := func(text string) string {
		return "fieldSelector=metadata.namespace!%3Dkube-system&labelSelector=" + url.QueryEscape(text)
	}

	for _, path := range []string{
		one, inA + "/none", inA, "/api/v1/namespaces/none/configmaps", many + "?" + selector(""),
		one + "?resourceVersion=0",
		many + "?" + selector("n=1"), many + "?" + selector("n in (0,2),n!=2"), many + "?" + selector("!n"),
		many + "?" + selector("n=,"), many + "?" + selector("a b"),
		inA + "?fieldSelector=metadata.name%3Dmap-2", inA + "?fieldSelector=data.k%3Dv1", inA + "?fieldSelector=x",
		inA + "?limit=2", inA + "?limit=2&labelSelector=n%3D0", inA + "?limit=x", inA + "?limit=0",
		inA + "?resourceVersion=x", inA + "?resourceVersion=0&limit=1",
		inA + "?resourceVersionMatch=Exact", inA + "?resourceVersionMatch=Exact&resourceVersion=0",
		inA + "?resourceVersionMatch=Newest&resourceVersion=1", inA + "?resourceVersionMatch=NotOlderThan&resourceVersion=1",
		inA + "?resourceVersionMatch=Exact&resourceVersion=" + last.String(),
		inA + "?continue=x", inA + "?sendInitialEvents=true", inA + "?sendInitialEvents=false&watch=false",
		inA + "?resourceVersion=999999999", one + "?resourceVersion=999999999",
		"/api/v1/unicorns", "/api/v9", "/apis/none", "/apis/apps/v9/deployments", "/apis/none/v1/things", one + "/log", "/api/v1/namespaces/a/nodes",
		inA + watchList, inA + watchList + "&labelSelector=n%3D0", inA + watchList + "&fieldSelector=metadata.name%3Dmap-2",
		inA + "?watch=1&timeoutSeconds=1", inA + "?watch=1&timeoutSeconds=1&resourceVersion=0",
		inA + "?watch=1&timeoutSeconds=1&resourceVersion=" + last.String(),
		inA + "?watch=1&timeoutSeconds=1&labelSelector=a b", inA + "?watch=1&timeoutSeconds=x",
		inA + "?watch=1&sendInitialEvents=true", inA + "?watch=1&resourceVersionMatch=NotOlderThan", inA + "?watch=1&resourceVersionMatch=Exact&sendInitialEvents=true",
		inA + "?watch=1&timeoutSeconds=5&resourceVersion=999999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
	} {
		p.same(strings.ReplaceAll(path, " ", "%20"), "")
	}
	for _, accept := range []string{
		"*/*", "application/json", "application/json;q=0.5,text/html", "text/html", "application/xml,image/png", "application/json;as=Graph;g=meta.k8s.io;v=v1",
		metadataList, "application/json;as=Graph;g=meta.k8s.io;v=v1,application/json",
	} {
		p.same(inA, accept)
	}
	p.same(one, metadataOnly)
	p.same(inA+watchList, metadataOnly)
	p.same(inA+watchList, metadataOnly+",application/json")
}

var beeperDefinition = strings.NewReplacer("crontab", "beeper", "CronTab", "Beeper", `"ct"`, `"bp"`,
	`"jsonPath":".spec.replicas"}`, `"jsonPath":".spec.replicas"},{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}`,
).Replace(crontabs)

func TestTablesOfACustomResourceAreTheServers(t *testing.T) {
	shared.clear(t)
	shared.must(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", beeperDefinition)
	t.Cleanup(func() {
		shared.must(t, http.MethodDelete, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/beepers.stable.example.com", "")
	})
	p := newTwins(t)
	beepers := api.Resource{Group: "stable.example.com", Version: "v1", Name: "beepers"}
	var last api.ResourceVersion
	require.Eventually(t, func() bool {
		var err error
		last, err = shared.put(beepers, "a/x", []byte(`{"apiVersion":"stable.example.com/v1","kind":"Beeper","metadata":{"name":"x"},"spec":{"color":"red","replicas":2}}`))
		return err == nil
	}, patience, pollInterval)
	require.Eventually(t, func() bool {
		return p.ask(p.ours.Client(), p.ours.URL, collectionPath(beepers, ""), "").code == 200
	}, patience, pollInterval)
	p.settled(beepers, last)
	path := collectionPath(beepers, "a")
	for _, include := range []string{"", "&includeObject=None", "&includeObject=Metadata", "&includeObject=Object"} {
		p.same(path+"?limit=5"+include, asTable)
		p.same(path+"/x?"+include, asTable)
		p.same(path+watchList+include, asTable)
	}
	p.same(path+"?includeObject=All", asTable)
	p.same(path+"?fieldSelector=spec.color%3Dred", "")
	p.same(path+"?fieldSelector=spec.color%3Dblue", "")
	p.same(path+"?fieldSelector=spec.replicas%3D2", "")
	p.same("/apis/stable.example.com", "")
	p.same("/apis/stable.example.com/v2", "")
}
