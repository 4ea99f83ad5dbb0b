package kube_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/host/source/kube"
)

// fake is a configurable kube-apiserver. It has pods and a custom resource, serves
// lists and watches in order, and misbehaves on request. The tests in
// host/conformance show that a real server behaves like its regular part.
type fake struct {
	t   *testing.T
	url string

	mu       sync.Mutex
	rv       int
	objects  map[string]event // pods, by namespace/name
	log      []event
	changed  chan struct{} // closed and replaced by each change
	ended    int           // how often the open watches were ended cleanly
	requests []*http.Request
	crd      string // the custom resource's definition
	// before may respond to a request instead. It then returns true.
	before func(w http.ResponseWriter, r *http.Request) bool
}

type event struct {
	rv     int
	kind   string
	object string
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, rv: 100, objects: map[string]event{}, changed: make(chan struct{})}
	server := httptest.NewServer(f)
	f.url = server.URL
	t.Cleanup(func() { f.endWatches(); server.CloseClientConnections(); server.Close() })
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

func pod(namespace, name string, rv int, typed bool) string {
	head := ""
	if typed {
		head = `"kind":"Pod","apiVersion":"v1",`
	}
	return fmt.Sprintf(`{%s"metadata":{"name":%q,"namespace":%q,"resourceVersion":"%d","labels":{"app":"web"}}}`, head, name, namespace, rv)
}

// put writes a pod and returns its version.
func (f *fake) put(namespace, name string) int {
	return f.change("MODIFIED", namespace, name)
}

func (f *fake) delete(namespace, name string) int { return f.change("DELETED", namespace, name) }

func (f *fake) change(kind, namespace, name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv++
	e := event{f.rv, kind, pod(namespace, name, f.rv, true)}
	f.log = append(f.log, e)
	e.object = pod(namespace, name, f.rv, false)
	f.objects[namespace+"/"+name] = e
	if kind == "DELETED" {
		delete(f.objects, namespace+"/"+name)
	}
	f.signal()
	return f.rv
}

func (f *fake) signal() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// rewind makes the server report another newest version.
func (f *fake) rewind(rv int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv = rv
}

// endWatches ends the open watches as a server does at their timeout.
func (f *fake) endWatches() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended++
	f.signal()
}

// intercept makes f respond to the requests for which it returns true.
func (f *fake) intercept(answer func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = answer
}

// seen returns the number of requests whose path and query contain a text.
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
	case "/api/v1/namespaces/kube-system":
		fmt.Fprint(w, `{"metadata":{"uid":"cluster-1"}}`)
	case "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.example.com":
		f.mu.Lock()
		defer f.mu.Unlock()
		fmt.Fprint(w, f.crd)
	case "/api/v1/pods":
		if r.URL.Query().Get("watch") != "" {
			f.watch(w, r)
			return
		}
		f.list(w, r)
	case "/apis/example.com/v1/crontabs":
		if r.URL.Query().Get("watch") != "" {
			f.quietWatch(w, r)
			return
		}
		fmt.Fprint(w, `{"kind":"CronTabList","metadata":{"resourceVersion":"100"},"items":[]}`)
	default:
		status(w, 404, "NotFound", "the server could not find the requested resource")
	}
}

// status responds with a Status.
func status(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	fmt.Fprint(w, statusJSON(code, reason, message))
}

func statusJSON(code int, reason, message string) string {
	b, err := json.Marshal(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// list serves pages whose continue token is the number of earlier objects.
func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	start, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	var keys, items []string
	for key := range f.objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	token := ""
	for i, key := range keys {
		if i < start {
			continue
		}
		if limit > 0 && len(items) == limit {
			token = strconv.Itoa(i)
			break
		}
		items = append(items, f.objects[key].object)
	}
	fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d","continue":%q},"items":[%s]}`,
		f.rv, token, strings.Join(items, ","))
}

// watch serves the log after resourceVersion in order until endWatches. It sends the
// state first if the request asks for it.
func (f *fake) watch(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	ended := f.ended
	at, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, key := range sortedKeys(f.objects) {
			o := f.objects[key]
			namespace, name, _ := strings.Cut(key, "/")
			send(w, "ADDED", pod(namespace, name, o.rv, true))
		}
		send(w, "BOOKMARK", fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}`, f.rv))
		at = f.rv
	}
	flush(w)
	for {
		for _, e := range f.log {
			if e.rv > at {
				send(w, e.kind, e.object)
				at = e.rv
			}
		}
		over, changed := f.ended > ended, f.changed
		f.mu.Unlock()
		flush(w)
		if over {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		f.mu.Lock()
	}
}

// quietWatch sends only the marker, and a bookmark before its end.
func (f *fake) quietWatch(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	ended := f.ended // read before the response, because a test may then end the watch
	f.mu.Unlock()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		send(w, "BOOKMARK", `{"metadata":{"resourceVersion":"100","annotations":{"k8s.io/initial-events-end":"true"}}}`)
	}
	flush(w)
	f.mu.Lock()
	for f.ended == ended {
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		f.mu.Lock()
	}
	f.mu.Unlock()
	send(w, "BOOKMARK", `{"metadata":{"resourceVersion":"100"}}`)
}

func sortedKeys(m map[string]event) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func send(w http.ResponseWriter, kind, object string) {
	fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", kind, object)
}

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

func isWatch(r *http.Request) bool {
	return r.URL.Query().Get("watch") != "" && r.URL.Query().Get("sendInitialEvents") == ""
}

func isWatchList(r *http.Request) bool { return r.URL.Query().Get("sendInitialEvents") == "true" }

func isProbe(r *http.Request) bool { return r.URL.Query().Get("limit") == "1" }
