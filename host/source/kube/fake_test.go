package kube_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/kubeserver"
	"github.com/watchglass/watchglass/host/source/kube"
)

// fake is a kube-apiserver with pods and a custom resource.
type fake struct {
	*kubeserver.Handler
	t    *testing.T
	pods *kubeserver.Memory
	url  string

	mu       sync.Mutex
	requests []*http.Request
	crd      string // the CustomResourceDefinition, as JSON
	// before may respond to a request in place of the fake. It returns true if it has
	// responded.
	before func(w http.ResponseWriter, r *http.Request) bool
}

func newFake(t *testing.T) *fake {
	m := kubeserver.NewMemory()
	m.Kinds["example.com/v1/crontabs"] = "CronTab"
	f := &fake{t: t, pods: m, Handler: kubeserver.NewHandler(&m.Server)}
	server := httptest.NewServer(f)
	f.url = server.URL
	t.Cleanup(func() { f.EndWatches(); server.CloseClientConnections(); server.Close() })
	return f
}

func (f *fake) source(config kube.Config) *kube.Source {
	config.REST = &rest.Config{Host: f.url}
	s, err := kube.New(config)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(s.Close)
	return s
}

func pod(namespace, name string, rv int) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"resourceVersion":"%d","labels":{"app":"web"}}}`, name, namespace, rv)
}

// put writes a pod and returns its version.
func (f *fake) put(namespace, name string) (rv api.ResourceVersion) {
	f.change(f.pods.Put, namespace, name)
	return f.pods.Newest
}

func (f *fake) delete(namespace, name string) { f.change(f.pods.Delete, namespace, name) }

func (f *fake) change(write func(api.Key, func(api.ResourceVersion) string), namespace, name string) {
	f.Do(func() {
		write(api.NewKey(namespace, name), func(rv api.ResourceVersion) string { return pod(namespace, name, int(rv)) })
	})
}

// rewind makes the server report rv as its newest version.
func (f *fake) rewind(rv api.ResourceVersion) { f.Do(func() { f.pods.Newest = rv }) }

// intercept makes the fake pass each request to the function answer first. If answer
// returns true, it has responded, and the fake ignores the request.
func (f *fake) intercept(answer func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = answer
}

// seen returns the number of requests whose URL contains text.
func (f *fake) seen(text string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.requests {
		if strings.Contains(r.URL.String(), text) {
			n++
		}
	}
	return n
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests = append(f.requests, r)
	before := f.before
	f.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	switch r.URL.Path {
	case "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/apis":
		fmt.Fprint(w, `{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}]}]}`)
	case "/api/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[`+
			`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list","watch"],"shortNames":["po"]},`+
			`{"name":"pods/status","namespaced":true,"kind":"Pod","verbs":["get","list","watch"]},`+
			`{"name":"bindings","namespaced":true,"kind":"Binding","verbs":["create"]}]}`)
	case "/apis/example.com/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[`+
			`{"name":"crontabs","singularName":"crontab","namespaced":true,"kind":"CronTab","verbs":["get","list","watch"],"shortNames":["ct"]}]}`)
	case "/version":
		fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
	case "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.example.com":
		f.mu.Lock()
		defer f.mu.Unlock()
		fmt.Fprint(w, f.crd)
	default:
		f.Handler.ServeHTTP(w, r)
	}
}

// status responds with a Status.
func status(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	io.WriteString(w, kubeserver.Status(code, reason, message))
}

func send(w io.Writer, kind, object string) { io.WriteString(w, kubeserver.Line(kind, object)) }

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

func isWatch(r *http.Request) bool {
	return r.URL.Query().Get("watch") != "" && r.URL.Query().Get("sendInitialEvents") == ""
}

func isWatchList(r *http.Request) bool { return r.URL.Query().Get("sendInitialEvents") == "true" }

func isProbe(r *http.Request) bool { return r.URL.Query().Get("limit") == "1" }
