package kubeapi_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/kubeapi"
)

func TestGet(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		a := w.get("/api/v1/namespaces/a/pods/one")
		require.Equal(t, 200, a.StatusCode, a.text)
		assert.Equal(t, "application/json", a.Header.Get("Content-Type"))
		pod := decode(t, a.text)
		assert.Equal(t, "Pod", pod["kind"])
		assert.Equal(t, "2", pod["metadata"].(map[string]any)["resourceVersion"])

		status := requireStatus(t, w.get("/api/v1/namespaces/a/pods/two"), 404, "NotFound")
		assert.Equal(t, `pods "two" not found`, status["message"])
		assert.Equal(t, map[string]any{"name": "two", "kind": "pods"}, status["details"])
		status = requireStatus(t, w.get("/apis/apps/v1/namespaces/a/deployments/two"), 404, "NotFound")
		assert.Equal(t, `deployments.apps "two" not found`, status["message"])
	})
}

func TestC38_AGetWaitsForItsVersion(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		require.Equal(t, 200, w.get("/api/v1/namespaces/a/pods/one?resourceVersion=0").StatusCode)
		go func() {
			time.Sleep(2 * time.Second)
			w.put("a/one", "api")
		}()
		a := w.get("/api/v1/namespaces/a/pods/one?resourceVersion=3")
		assert.Contains(t, a.text, `"resourceVersion":"3"`)
		requireStatus(t, w.get("/api/v1/namespaces/a/pods/one?resourceVersion=x"), 400, "BadRequest")
	})
}

func TestC34_P20_AVersionOfTheFutureIs504(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		for _, path := range []string{
			"/api/v1/namespaces/a/pods/one?resourceVersion=9",
			"/api/v1/pods?resourceVersion=9",
			"/api/v1/pods?resourceVersion=9&resourceVersionMatch=Exact",
		} {
			begun := time.Now()
			a := w.get(path)
			status := requireStatus(t, a, 504, "Timeout")
			assert.Equal(t, 3*time.Second, time.Since(begun))
			assert.Equal(t, "1", a.Header.Get("Retry-After"))
			details := status["details"].(map[string]any)
			assert.EqualValues(t, 1, details["retryAfterSeconds"])
			assert.Equal(t, "ResourceVersionTooLarge", details["causes"].([]any)[0].(map[string]any)["reason"])
			assert.Equal(t, "Timeout: Too large resource version: 9, current: 2", status["message"])
		}
	})
}

func TestP16_ListContainsItsVersion(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		a := w.get("/api/v1/pods")
		assert.JSONEq(t, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`, a.text)
		w.put("b/two", "web")
		w.put("a/one", "web")
		a = w.get("/api/v1/pods")
		assert.Equal(t, "one two", names(t, a), "in the order of keys")
		assert.Equal(t, map[string]any{"resourceVersion": "3"}, decode(t, a.text)["metadata"])
		assert.Equal(t, "two", names(t, w.get("/api/v1/namespaces/b/pods")))
		assert.Equal(t, "", names(t, w.get("/api/v1/namespaces/nowhere/pods")))
		list := decode(t, w.get("/apis/apps/v1/deployments").text)
		assert.Equal(t, "DeploymentList", list["kind"])
		assert.Equal(t, "apps/v1", list["apiVersion"])
	})
}

func TestC46_SelectorsOfAList(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.put("a/two", "api")
		w.put("b/one", "web")
		for query, want := range map[string]string{
			"labelSelector=app=web":                                "one one",
			"labelSelector=app in (api,web),app!=web":              "two",
			"fieldSelector=metadata.namespace=a":                   "one two",
			"fieldSelector=metadata.name=one,metadata.namespace=b": "one",
			"fieldSelector=spec.nodeName=n2":                       "",
			"fieldSelector=status.phase==Running&limit=2":          "one two",
		} {
			u := url.URL{Path: "/api/v1/pods", RawQuery: strings.ReplaceAll(query, " ", "%20")}
			assert.Equal(t, want, names(t, w.get(u.String())), query)
		}
	})
}

func TestP16_P17_P19_PagesAreOfOneVersion(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		for i := range 5 {
			w.put(api.Key(fmt.Sprintf("a/p%d", i)), "web")
		}
		type meta struct {
			rv, cont  string
			remaining any
		}
		page := func(query string) (string, meta) {
			a := w.get("/api/v1/pods?limit=2" + query)
			metadata, _ := decode(t, a.text)["metadata"].(map[string]any)
			cont, _ := metadata["continue"].(string)
			rv, _ := metadata["resourceVersion"].(string)
			return names(t, a), meta{rv, cont, metadata["remainingItemCount"]}
		}
		items, first := page("")
		assert.Equal(t, "p0 p1", items)
		assert.Equal(t, "6", first.rv)
		assert.EqualValues(t, 3, first.remaining)
		w.source.Delete(pods, "a/p3")
		w.put("a/p9", "web")
		items, second := page("&continue=" + first.cont)
		assert.Equal(t, "p2 p3", items)
		assert.Equal(t, "6", second.rv)
		items, last := page("&continue=" + second.cont)
		assert.Equal(t, "p4", items)
		assert.Equal(t, meta{rv: "6"}, last)
		_, selected := page("&labelSelector=app%3Dweb")
		assert.NotEmpty(t, selected.cont)
		assert.Nil(t, selected.remaining, "unknown with a selector")

		requireStatus(t, w.get("/api/v1/pods?resourceVersion=6&continue="+first.cont), 400, "BadRequest")
		requireStatus(t, w.get("/api/v1/pods?continue=garbage"), 400, "BadRequest")
	})
}

func TestC52_P18_AnExpiredTokenIs410WithAFreshOne(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		for i := range 5 {
			w.put(api.Key(fmt.Sprintf("a/p%d", i)), "web")
		}
		metadata := decode(t, w.get("/api/v1/pods?limit=2").text)["metadata"].(map[string]any)
		for range 200 { // more changes than the smallest window holds, over a time in which old events are evicted
			time.Sleep(2 * time.Second)
			w.put("a/p0", "web")
		}
		status := requireStatus(t, w.get("/api/v1/pods?limit=2&continue="+metadata["continue"].(string)), 410, "Expired")
		fresh, _ := status["metadata"].(map[string]any)["continue"].(string)
		require.NotEmpty(t, fresh)
		assert.Equal(t, "p2 p3", names(t, w.get("/api/v1/pods?limit=2&continue="+fresh)))
	})
}

func TestC39_VersionsAndMatches(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.get("/api/v1/pods") // starts the history at version 1
		w.put("a/one", "web")
		w.put("a/two", "web")
		for query, want := range map[string]string{
			"":                  "one two",
			"resourceVersion=0": "one two",
			"resourceVersion=2": "one two",
			"resourceVersion=2&resourceVersionMatch=NotOlderThan": "one two",
			"resourceVersion=0&resourceVersionMatch=NotOlderThan": "one two",
			"resourceVersion=2&resourceVersionMatch=Exact":        "one",
			"resourceVersion=2&limit=5":                           "one",
			"resourceVersion=0&limit=1":                           "one two", // rule C40
		} {
			assert.Equal(t, want, names(t, w.get("/api/v1/pods?"+query)), query)
		}
		for query, code := range map[string]int{ // rules C47, C48
			"resourceVersion=-1":                                      400,
			"resourceVersionMatch=Exact":                              422,
			"resourceVersionMatch=Newest&resourceVersion=1":           422,
			"resourceVersionMatch=Exact&resourceVersion=0":            422,
			"sendInitialEvents=true":                                  422,
			"sendInitialEvents=false&watch=0":                         422,
			"limit=many":                                              400,
			"limit=-1":                                                400,
			"labelSelector=%3D%3D":                                    400,
			"fieldSelector=spec.hostNetwork%3Dtrue":                   400,
			"resourceVersion=18446744073709551616":                    400,
			"resourceVersionMatch=Exact&resourceVersion=2&continue=x": 422,
		} {
			reason := "BadRequest"
			if code == 422 {
				reason = "Invalid"
			}
			requireStatus(t, w.get("/api/v1/pods?"+query), code, reason)
		}
	})
}

func TestP13_ListsAndObjectsAsMetadata(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
		list := decode(t, w.get("/api/v1/pods").text)
		assert.Equal(t, "PartialObjectMetadataList", list["kind"])
		assert.Equal(t, "meta.k8s.io/v1", list["apiVersion"])
		item := list["items"].([]any)[0].(map[string]any)
		assert.Equal(t, "PartialObjectMetadata", item["kind"])
		assert.NotContains(t, item, "spec")
		assert.Equal(t, "one", item["metadata"].(map[string]any)["name"])

		w.header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
		assert.Equal(t, item, decode(t, w.get("/api/v1/namespaces/a/pods/one").text))
		requireStatus(t, w.get("/api/v1/pods"), 406, "NotAcceptable")
	})
}

func TestP3_ProtocolSelectionAndHTTPAccept(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		for accept, want := range map[string]string{
			"":                              "PodList",
			"*/*":                           "PodList",
			"application/*":                 "PodList",
			"application/json":              "PodList",
			"application/json;stream=watch": "PodList",
			"application/json;stream=foo":   "",
			"application/json; pretty=1":    "PodList",
			"application/vnd.kubernetes.protobuf,application/json": "PodList",
			"application/vnd.kubernetes.protobuf":                  "",
			"application/cbor":                                     "",
			"application/yaml":                                     "",
			"text/html":                                            "",
			"text/html,*/*;q=0.1":                                  "PodList",
			"application/json;q=0":                                 "",
			"application/json;q=x":                                 "",
			"application/json;q=NaN":                               "",
			";;;":                                                  "",
			"application/json;as=Table;g=meta.k8s.io;v=v1":         "Table",
			"application/json;as=Table;g=meta.k8s.io;v=v1beta1":    "",
			"application/json;as=Table;g=meta.k8s.io;v=v1beta1,application/json":       "PodList",
			"application/json;as=Table;g=other;v=v1":                                   "",
			"application/json;as=Graph;g=meta.k8s.io;v=v1":                             "",
			"application/json;q=0.5,application/json;as=Table;g=meta.k8s.io;v=v1;q=1":  "Table",
			"application/json,application/json;as=Table;g=meta.k8s.io;v=v1;q=0.9":      "PodList",
			"application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,text/css": "",
		} {
			w.header.Set("Accept", accept)
			a := w.get("/api/v1/pods")
			if want == "" {
				requireStatus(t, a, 406, "NotAcceptable")
				continue
			}
			assert.Equal(t, want, decode(t, a.text)["kind"], accept)
		}
	})
}

func TestP12_ATable(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.source.Put(pods, "a/two", []byte(`{"metadata":{"name":"two","namespace":"a"}}`))
		w.header.Set("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
		table := decode(t, w.get("/api/v1/pods?limit=1").text)
		assert.Equal(t, "Table", table["kind"])
		assert.Equal(t, "meta.k8s.io/v1", table["apiVersion"])
		metadata := table["metadata"].(map[string]any)
		assert.Equal(t, "3", metadata["resourceVersion"])
		assert.EqualValues(t, 1, metadata["remainingItemCount"])
		assert.NotEmpty(t, metadata["continue"])
		assert.Equal(t, map[string]any{
			"name": "Name", "type": "string", "format": "name", "priority": 0.0,
			"description": "The name of the object, unique in its namespace.",
		}, table["columnDefinitions"].([]any)[0])
		var columns []string
		for _, c := range table["columnDefinitions"].([]any) {
			column := c.(map[string]any)
			columns = append(columns, fmt.Sprintf("%v/%v/%v", column["name"], column["type"], column["priority"]))
		}
		assert.Equal(t, "Name/string/0 Ready/string/0 Status/string/0 Restarts/integer/0 Age/date/0 IP/string/1 Node/string/1 Nominated Node/string/1 Readiness Gates/string/1",
			strings.Join(columns, " "))
		row := table["rows"].([]any)[0].(map[string]any)
		assert.Equal(t, []any{"one", "0/0", "Running", 0.0, "10h", "<none>", "n1", "<none>", "<none>"}, row["cells"])
		assert.Equal(t, "PartialObjectMetadata", row["object"].(map[string]any)["kind"])

		table = decode(t, w.get("/api/v1/namespaces/a/pods/two?includeObject=Object").text)
		row = table["rows"].([]any)[0].(map[string]any)
		assert.Equal(t, []any{"two", "0/0", nil, 0.0, "<unknown>", "<none>", "<none>", "<none>", "<none>"}, row["cells"])
		assert.Equal(t, "Pod", row["object"].(map[string]any)["kind"])
		assert.Equal(t, map[string]any{"resourceVersion": "3"}, table["metadata"])

		table = decode(t, w.get("/api/v1/pods?includeObject=None&labelSelector=no").text)
		assert.Equal(t, []any{}, table["rows"])
		table = decode(t, w.get("/api/v1/pods?includeObject=None").text)
		assert.Nil(t, table["rows"].([]any)[0].(map[string]any)["object"])
	})
}

func TestP12_AWatchOnATableHasItsDefinitionsOnce(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
		for _, include := range []string{"None", "Metadata", "Object"} {
			watch := w.watch("/api/v1/pods?watch=1&includeObject=" + include + initialEvents)
			first := watch.next().Object
			assert.Len(t, first["columnDefinitions"], 9)
			row := first["rows"].([]any)[0].(map[string]any)
			assert.Equal(t, "one", row["cells"].([]any)[0])
			kind := map[string]any{"None": nil, "Metadata": "PartialObjectMetadata", "Object": "Pod"}[include]
			object, _ := row["object"].(map[string]any)
			assert.Equal(t, kind, object["kind"])

			second := watch.next()
			assert.Equal(t, "BOOKMARK", second.Type)
			assert.Nil(t, second.Object["columnDefinitions"])
			assert.Equal(t, map[string]any{"resourceVersion": "2"}, second.Object["metadata"])
			row = second.Object["rows"].([]any)[0].(map[string]any)
			assert.Len(t, row["cells"], 9)
			metadata := row["object"].(map[string]any)["metadata"]
			assert.Equal(t, map[string]any{
				"resourceVersion": "2", "annotations": map[string]any{"k8s.io/initial-events-end": "true"},
			}, metadata, "even with None")
			watch.close()
		}
	})
}

func TestLargeListsAreCompressedOnRequest(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		plain := w.get("/api/v1/pods")
		w.header.Set("Accept-Encoding", "br;q=1, gzip;q=0.5")
		assert.Equal(t, plain.text, w.get("/api/v1/pods").text, "small responses are not")
		for i := range 1000 {
			w.put(api.Key(fmt.Sprintf("a/p%04d", i)), "web")
		}
		w.header.Set("Accept-Encoding", "gzip")
		a := w.get("/api/v1/pods")
		assert.Equal(t, "gzip", a.Header.Get("Content-Encoding"))
		reader, err := gzip.NewReader(strings.NewReader(a.text))
		require.NoError(t, err)
		text, err := io.ReadAll(reader)
		require.NoError(t, err)
		w.header.Set("Accept-Encoding", "identity")
		plain = w.get("/api/v1/pods")
		assert.Empty(t, plain.Header.Get("Content-Encoding"))
		assert.True(t, plain.text == string(text), "the same response")
		assert.Contains(t, strings.Join(plain.Header.Values("Vary"), ","), "Accept-Encoding")
		assert.Len(t, strings.Fields(names(t, plain)), 1001)
	})
}

func TestWritesAndOtherMethods(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "CONNECTING"} {
			a := w.do(method, "/api/v1/namespaces/a/pods/one")
			requireStatus(t, a, 405, "MethodNotAllowed")
			assert.Equal(t, "GET, HEAD, OPTIONS", a.Header.Get("Allow"))
		}
		a := w.do(http.MethodOptions, "/api/v1/pods")
		assert.Equal(t, 204, a.StatusCode)
		assert.Equal(t, "GET, HEAD, OPTIONS", a.Header.Get("Allow"))
		a = w.do(http.MethodHead, "/api/v1/pods")
		assert.Equal(t, 200, a.StatusCode)
		assert.Empty(t, a.text)
		assert.Equal(t, 404, w.do(http.MethodHead, "/api/v1/namespaces/a/pods/none").StatusCode)
	})
}

func TestUnknownPathIs404(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		for _, path := range []string{
			"/", "//", "/api//v1", "/api/v1/unicorns", "/api/v2", "/api/v2/pods", "/apis/none", "/apis/apps/v2/deployments",
			"/openapi/v2", "/openapi/v3", "/watch", "/metrics",
			"/api/v1/pods/one",                    // no namespace
			"/api/v1/namespaces/a/nodes",          // no namespaces
			"/api/v1/namespaces/a/nodes/n1",       //
			"/api/v1/namespaces/a/pods/one/log",   // subresources
			"/api/v1/namespaces/a/status",         //
			"/api/v1/nodes/n1/proxy/metrics",      //
			"/api/v1/watch/pods",                  // deprecated
			"/api/v1/namespaces/a/pods/one%2Ftwo", // the name contains a slash
			"/api/v1/namespaces/a/pods//one",
		} {
			requireStatus(t, w.get(path), 404, "NotFound")
		}
		assert.Equal(t, 200, w.get("/api/v1/pods/").StatusCode, "a trailing slash is ignored")
	})
}

func TestNamespacesAreObjectsAndPlaces(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.source.Put(api.Resource{Version: "v1", Name: "namespaces"}, "a", []byte(`{"metadata":{"name":"a"}}`))
		w.source.Put(nodes, "n1", []byte(`{"metadata":{"name":"n1"}}`))
		assert.Equal(t, "a", names(t, w.get("/api/v1/namespaces")))
		assert.Equal(t, "Namespace", decode(t, w.get("/api/v1/namespaces/a").text)["kind"])
		assert.Equal(t, "Node", decode(t, w.get("/api/v1/nodes/n1").text)["kind"])
		watch := w.watch("/api/v1/namespaces/a?watch=1")
		defer watch.close()
		assert.Equal(t, "ADDED a 2", watch.formatNext())
	})
}

// A list with an unreadable object succeeds, and a Warning header names that object.
func TestC53_FaultyObjectsAreNamed(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.put("a/two", "web")
		w.source.Put(pods, "a/two", []byte(`{"metadata":`))
		w.source.Put(pods, "a/six", []byte("k8s\x00binary"))
		w.source.Put(pods, "b/six", []byte("[]"))
		a := w.get("/api/v1/namespaces/a/pods")
		assert.Equal(t, "one", names(t, a))
		warnings := a.Header.Values("Warning")
		require.Len(t, warnings, 2)
		assert.Regexp(t, `^299 - "v1/pods \\"a/(six|two)\\" at resource version \d cannot be served: .*"$`, warnings[0])
		status := requireStatus(t, w.get("/api/v1/namespaces/a/pods/six"), 500, "InternalError")
		assert.Contains(t, status["message"], "protobuf")
		w.put("a/six", "web")
		assert.Equal(t, "one six", names(t, w.get("/api/v1/namespaces/a/pods?resourceVersion=7")))
	})
}

func TestMetricsCountByVerbAndCode(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.get("/api/v1/pods")
		w.get("/api/v1/pods")
		w.get("/api/v1/pods?limit=x")
		w.get("/api/v1/namespaces/a/pods/none")
		w.get("/api")
		w.do("POST", "/api/v1/pods")
		w.watch("/api/v1/pods?watch=1&timeoutSeconds=1&resourceVersion=2").ends()
		w.client.CloseIdleConnections()
		text := metrics(w)
		for _, line := range []string{
			`{code="200",verb="discovery"} 1`, `{code="404",verb="get"} 1`, `{code="200",verb="list"} 2`,
			`{code="400",verb="list"} 1`, `{code="405",verb="other"} 1`, `{code="200",verb="watch"} 1`,
		} {
			assert.Contains(t, text, "watchglass_kubeapi_requests_total"+line+"\n")
		}
	})
}
