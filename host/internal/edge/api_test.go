package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/access/token"
)

// TestAPI reads the Kubernetes API that the Go worker serves from a Durable Object.
func TestAPI(t *testing.T) {
	const pods = 700
	r := start(t, pods)
	first := r.list("/api/v1/pods?limit=2").Items[0].Metadata
	one := "/api/v1/namespaces/" + first.Namespace + "/pods/" + first.Name

	t.Run("lists come in pages of one version", func(t *testing.T) {
		r := &rig{t, r.demo}
		page := r.list("/api/v1/pods?limit=300")
		version, keys := page.Metadata.ResourceVersion, map[string]bool{}
		for {
			for _, item := range page.Items {
				keys[item.Metadata.Namespace+"/"+item.Metadata.Name] = true
			}
			assert.Equal(t, version, page.Metadata.ResourceVersion)
			assert.Equal(t, pods-len(keys), page.Metadata.RemainingItemCount)
			if page.Metadata.Continue == "" {
				break
			}
			page = r.list("/api/v1/pods?limit=300&continue=" + page.Metadata.Continue)
		}
		assert.Len(t, keys, pods)
		assert.Len(t, r.list("/api/v1/pods").Items, pods, "without a limit, in internal pages")
	})
	t.Run("the 410 for an expired token contains a token to continue with (rule C52)", func(t *testing.T) {
		r := &rig{t, r.demo}
		old := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":1,"start":"` + first.Namespace + "/" + first.Name + `\u0000"}`))
		gone := r.list("/api/v1/pods?limit=300&continue=" + old)
		assert.Equal(t, []any{410, "Expired"}, []any{gone.Code, gone.Reason})
		items := 0
		for next := gone.Metadata.Continue; next != ""; {
			page := r.list("/api/v1/pods?limit=300&continue=" + next)
			require.Equal(t, "PodList", page.Kind)
			items, next = items+len(page.Items), page.Metadata.Continue
		}
		assert.Equal(t, pods-1, items, "all but the first")
	})
	t.Run("one object, and clusters by name", func(t *testing.T) {
		r := &rig{t, r.demo}
		code, body := r.get(one, r.everything())
		assert.Equal(t, 200, code)
		assert.Contains(t, string(body), `"kind":"Pod"`)
		code, again := r.get("/clusters/default"+one, r.everything())
		assert.Equal(t, 200, code)
		assert.Equal(t, string(body), string(again))
	})
	t.Run("tables and metadata", func(t *testing.T) {
		r := &rig{t, r.demo}
		table := r.list("/api/v1/pods?limit=2", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
		assert.Equal(t, "Table", table.Kind)
		require.Len(t, table.Rows, 2)
		assert.Equal(t, first.Name, table.Rows[0].Cells[0])
		_, body := r.get(one, r.everything(), "Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
		assert.Contains(t, string(body), `"kind":"PartialObjectMetadata"`)
	})
	t.Run("discovery", func(t *testing.T) {
		r := &rig{t, r.demo}
		_, body := r.get("/apis", r.everything(), "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		assert.Contains(t, string(body), `"deployments"`)
		_, body = r.get("/api/v1", r.everything())
		for _, resource := range []string{`"pods"`, `"nodes"`, `"configmaps"`} {
			assert.Contains(t, string(body), resource)
		}
	})
	t.Run("errors are returned as a Status", func(t *testing.T) {
		r := &rig{t, r.demo}
		for path, code := range map[string]int{
			"/api/v1/unicorns":                                          404,
			"/api/v1/namespaces/none/pods/none":                         404,
			"/api/v1/pods/status/x":                                     404,
			"/clusters/none/api/v1/pods":                                403, // the rig's token is for another cluster
			"/api/v1/pods?resourceVersion=x":                            400,
			"/api/v1/pods?labelSelector===":                             400,
			"/api/v1/pods?resourceVersionMatch=Exact":                   422,
			"/api/v1/pods?resourceVersion=999999999":                    504,
			"/api/v1/pods?resourceVersionMatch=Exact&resourceVersion=1": 410,
		} {
			got := r.list(path)
			assert.Equal(t, "Status", got.Kind, path)
			assert.Equal(t, code, got.Code, path)
		}
		none := r.sign(func(c *token.Claims) { c.Cluster = "none" })
		code, _ := r.get("/clusters/none/api/v1/pods", none)
		assert.Equal(t, 404, code)
		response := r.ask(http.MethodDelete, one, r.everything())
		response.Body.Close()
		assert.Equal(t, 405, response.StatusCode)
		code, _ = r.get("/api/v1/pods", r.everything(), "Accept", "application/vnd.kubernetes.protobuf")
		assert.Equal(t, 406, code)
	})
	t.Run("tokens grant what they name", func(t *testing.T) {
		r := &rig{t, r.demo}
		mine := r.sign(func(c *token.Claims) { c.Resources, c.Namespaces = []string{"v1/pods"}, []string{first.Namespace} })
		for _, c := range []struct {
			path, token string
			code        int
		}{
			{one, mine, 200},
			{"/api/v1/namespaces/" + first.Namespace + "/pods", mine, 200},
			{"/api/v1/pods", mine, 403},
			{"/api/v1/namespaces/other/pods", mine, 403},
			{"/api/v1/nodes", mine, 403},
			{"/api/v1/unicorns", mine, 403}, // the response does not disclose whether the resource exists
			{one, r.sign(func(c *token.Claims) { c.Feed = true }), 403},
			{one, r.sign(func(c *token.Claims) { c.Cluster = "other" }), 403},
			{one, "", 401},
			{one, "garbage", 401},
			{one, mine[:strings.LastIndexByte(mine, '.')+1], 401},
			{"/metrics", "", 401},
			{"/readyz", "", 401},
			{"/clusters/none/metrics", "", 401},
		} {
			code, body := r.get(c.path, c.token)
			assert.Equal(t, c.code, code, "%s: %s", c.path, body)
			if c.code != 200 {
				assert.Contains(t, string(body), `"kind":"Status"`)
				if !strings.Contains(c.path, first.Name) {
					assert.NotContains(t, string(body), first.Name, "a name that the request does not have")
				}
			}
		}
	})
	t.Run("pages of other origins may ask", func(t *testing.T) {
		r := &rig{t, r.demo}
		response := r.ask(http.MethodOptions, "/api/v1/pods", "", "Origin", "https://dashboard.example.com", "Access-Control-Request-Method", "GET")
		response.Body.Close()
		assert.Equal(t, 204, response.StatusCode)
		assert.Contains(t, response.Header.Get("Access-Control-Allow-Headers"), "Authorization")
		response = r.ask(http.MethodGet, "/api/v1/pods?limit=1", "", "Origin", "https://dashboard.example.com")
		response.Body.Close()
		assert.Equal(t, "*", response.Header.Get("Access-Control-Allow-Origin"), "errors must be readable too")
	})
	t.Run("health and metrics", func(t *testing.T) {
		r := &rig{t, r.demo}
		code, body := r.get("/healthz", "")
		assert.Equal(t, "200 ok\n", fmt.Sprint(code, " ", string(body)))
		_, body = r.get("/metrics", r.everything())
		assert.Contains(t, string(body), `watchglass_objects{cluster="default",object="all",resource="v1/pods"} 700`+"\n")
		assert.Contains(t, string(body), `watchglass_edge_feeds_active{cluster="default",object="all"} 1`+"\n")
		assert.Contains(t, string(body), "# TYPE watchglass_limit_refusals_total counter\n")
		for _, reason := range []string{"max-message-rate", "max-readers", "write-timeout"} {
			assert.Contains(t, string(body), `watchglass_limit_refusals_total{cluster="default",object="all",reason="`+reason+`"} 0`+"\n")
		}
		assert.Contains(t, string(body), `watchglass_stale_seconds{cluster="default",object="all",resource="v1/pods"} 0`+"\n")
		assert.Regexp(t, `watchglass_progress_age_seconds\{cluster="default",object="all",resource="v1/pods"\} [0-9]{1,2}\n`, string(body))
		assert.Regexp(t, `watchglass_memory_bytes\{cluster="default",object="all"\} [1-9][0-9]{6,7}\n`, string(body))
	})
}

func TestAPIWatches(t *testing.T) {
	r := start(t, 100)
	version := r.list("/api/v1/pods?limit=1").Metadata.ResourceVersion

	t.Run("a watch streams what changes", func(t *testing.T) {
		r := &rig{t, r.demo}
		w := r.watch("/api/v1/pods?watch=true&resourceVersion="+version, r.everything())
		r.change()
		for range 5 {
			e := w.next()
			assert.Contains(t, []string{"ADDED", "MODIFIED", "DELETED"}, e.Type)
			assert.NotEmpty(t, e.Object.Metadata.Name)
		}
	})
	t.Run("initial events end with a bookmark", func(t *testing.T) {
		r := &rig{t, r.demo}
		w := r.watch("/api/v1/nodes?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", r.everything())
		e := w.next()
		for ; e.Type == "ADDED"; e = w.next() {
			assert.NotEmpty(t, e.Object.Metadata.Name)
		}
		assert.Equal(t, "BOOKMARK", e.Type)
	})
	t.Run("a version that is forgotten is 410, and one to come is 504", func(t *testing.T) {
		r := &rig{t, r.demo}
		e := r.watch("/api/v1/pods?watch=true&resourceVersion=1", r.everything()).next()
		assert.Equal(t, "ERROR 410", format(e))
		e = r.watch("/api/v1/pods?watch=true&resourceVersion=999999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", r.everything()).next()
		assert.Equal(t, "ERROR 504", format(e))
	})
	t.Run("a watch ends with its time", func(t *testing.T) {
		r := &rig{t, r.demo}
		w := r.watch("/api/v1/nodes?watch=true&timeoutSeconds=1&resourceVersion="+r.list("/api/v1/nodes").Metadata.ResourceVersion, r.everything())
		for w.next() != (event{}) {
			continue
		}
	})
	t.Run("a watch ends when its token does", func(t *testing.T) {
		r := &rig{t, r.demo}
		short := r.sign(func(c *token.Claims) { c.Expires = time.Now().Add(2 * time.Second) })
		w := r.watch("/api/v1/nodes?watch=true&resourceVersion="+r.list("/api/v1/nodes").Metadata.ResourceVersion, short)
		assert.Equal(t, "ERROR 401", format(w.next()))
		assert.Equal(t, event{}, w.next())
	})
	t.Run("a refusal comes before the stream", func(t *testing.T) {
		r := &rig{t, r.demo}
		assert.Equal(t, 422, r.list("/api/v1/pods?watch=true&sendInitialEvents=true").Code)
		code, _ := r.get("/api/v1/pods?watch=true", r.sign(func(c *token.Claims) { c.Namespaces = []string{"a"} }))
		assert.Equal(t, 403, code)
		code, _ = r.get("/api/v1/pods?watch=true", "")
		assert.Equal(t, 401, code)
	})
}

func format(e event) string { return fmt.Sprint(e.Type, " ", e.Object.Code) }
