package kubewatch_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// server is a simple model of kube-apiserver with one resource, v1/pods. It serves
// the state that a test sets, and misbehaves on request.
type server struct {
	uid       string
	rv        int
	compacted int // watches from earlier versions are too old
	objects   map[string]pod
	log       []event
	open      map[uint32]*answer
	now       int64

	refusesInitialEvents bool // responds with 422
	ignoresInitialEvents bool // sends the events without the mark
	frozen               int  // the version at which it lags, or zero
	pageSize             int  // maximum
	pages                int  // number of served pages
	expirePage           int  // responds to this page and later ones with 410
	// fail returns another response to a request, or nil.
	fail  func(path string) *answer
	paths []string
}

type pod struct {
	rv   int
	body string
}

type event struct {
	rv   int
	kind string
	body string
}

// answer is one response in progress.
type answer struct {
	code, retry int
	begun       bool
	data        []byte // not delivered yet
	end         bool
	message     string
	watch       bool
	at          int // position of a watch
	deadline    int64
	marked      bool // the last bookmark was sent
}

func newServer() *server {
	return &server{uid: "cluster-1", rv: 100, objects: map[string]pod{}, open: map[uint32]*answer{}, pageSize: 500}
}

func (s *server) put(key, app string, restarts int) {
	s.rv++
	namespace, name, _ := strings.Cut(key, "/")
	kind := "ADDED"
	if _, there := s.objects[key]; there {
		kind = "MODIFIED"
	}
	body := fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"uid":"u-%s","resourceVersion":"%d",`+
		`"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":%q},"managedFields":[{"manager":"kubectl"}]},`+
		`"spec":{"nodeName":"node-é\"{"},"status":{"phase":"Running","containerStatuses":[{"restartCount":%d}]}}`,
		name, namespace, name, s.rv, app, restarts)
	s.objects[key] = pod{s.rv, body}
	s.log = append(s.log, event{s.rv, kind, body})
}

func (s *server) delete(key string) {
	s.rv++
	body := strings.Replace(s.objects[key].body, fmt.Sprintf(`"resourceVersion":"%d"`, s.objects[key].rv), fmt.Sprintf(`"resourceVersion":"%d"`, s.rv), 1)
	delete(s.objects, key)
	s.log = append(s.log, event{s.rv, "DELETED", body})
}

// versions returns the versions of all objects, by key.
func (s *server) versions() map[string]int {
	all := map[string]int{}
	for key, o := range s.objects {
		all[key] = o.rv
	}
	return all
}

func typed(body string) string { return `{"kind":"Pod","apiVersion":"v1",` + body[1:] }

func watchEvent(kind, object string) []byte {
	return []byte(`{"type":"` + kind + `","object":` + object + "}\n")
}

func bookmarkEvent(rv int, end bool) []byte {
	annotations := ""
	if end {
		annotations = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return watchEvent("BOOKMARK", fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d"%s}}`, rv, annotations))
}

func status(code int, reason, message string) []byte {
	return fmt.Appendf(nil, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
}

func refuse(code int, reason, message string) *answer {
	return &answer{code: code, data: status(code, reason, message), end: true}
}

func (s *server) fetch(stream uint32, path string) {
	s.paths = append(s.paths, path)
	s.open[stream] = s.answer(path)
}

func (s *server) answer(path string) *answer {
	if s.fail != nil {
		if a := s.fail(path); a != nil {
			return a
		}
	}
	u, err := url.Parse(path)
	if err != nil {
		panic(err)
	}
	q := u.Query()
	known := s.rv
	if s.frozen > 0 {
		known = s.frozen
	}
	switch {
	case u.Path == "/api/v1/namespaces/kube-system":
		return &answer{code: 200, data: fmt.Appendf(nil, `{"kind":"Namespace","metadata":{"name":"kube-system","uid":%q}}`, s.uid), end: true}
	case u.Path != "/api/v1/pods":
		return refuse(404, "NotFound", "the server could not find the requested resource")
	}
	asked, _ := strconv.Atoi(q.Get("resourceVersion"))
	switch {
	case q.Get("sendInitialEvents") == "true":
		if s.refusesInitialEvents {
			return refuse(422, "Invalid", "sendInitialEvents: Forbidden")
		}
		if asked > known {
			return refuse(504, "Timeout", "Too large resource version")
		}
		a := &answer{code: 200, watch: true, at: known}
		for _, key := range slices.Sorted(maps.Keys(s.objects)) {
			a.data = append(a.data, watchEvent("ADDED", typed(s.objects[key].body))...)
		}
		if !s.ignoresInitialEvents {
			a.data = append(a.data, bookmarkEvent(known, true)...)
		}
		a.deadline = s.now + 600_000
		return a
	case q.Get("watch") == "1":
		seconds, _ := strconv.Atoi(q.Get("timeoutSeconds"))
		a := &answer{code: 200, watch: true, at: asked, deadline: s.now + int64(seconds)*1000, marked: seconds <= 2} // rule W20
		if asked < s.compacted {
			a.data, a.end = watchEvent("ERROR", string(status(410, "Expired", "too old resource version"))), true
		}
		return a
	case asked > known:
		return refuse(504, "Timeout", "Too large resource version")
	}
	return s.list(q)
}

func (s *server) list(q url.Values) *answer {
	limit, _ := strconv.Atoi(q.Get("limit"))
	if limit == 0 || limit > s.pageSize && limit != 1 {
		limit = s.pageSize
	}
	if !q.Has("limit") {
		limit = 1 << 30
	}
	rv, from, _ := strings.Cut(q.Get("continue"), "@")
	if q.Has("continue") {
		if s.pages++; s.expirePage > 0 && s.pages >= s.expirePage {
			return refuse(410, "Expired", "the provided continue parameter is too old")
		}
	} else if rv = strconv.Itoa(s.rv); s.frozen > 0 {
		rv = strconv.Itoa(s.frozen)
	}
	keys := slices.Sorted(maps.Keys(s.objects))
	at, _ := slices.BinarySearch(keys, from)
	var items []json.RawMessage
	next := ""
	for ; at < len(keys); at++ {
		if len(items) == limit {
			next = rv + "@" + keys[at]
			break
		}
		items = append(items, json.RawMessage(s.objects[keys[at]].body))
	}
	if items == nil {
		items = []json.RawMessage{}
	}
	body, err := json.MarshalIndent(map[string]any{
		"kind": "PodList", "apiVersion": "v1", "items": items,
		"metadata": map[string]any{"resourceVersion": rv, "continue": next, "remainingItemCount": 3},
	}, "", " ")
	if err != nil {
		panic(err)
	}
	return &answer{code: 200, data: body, end: true}
}

// tick makes watches send everything that is due.
func (s *server) tick(now int64) {
	s.now = now
	for _, stream := range slices.Sorted(maps.Keys(s.open)) {
		a := s.open[stream]
		if !a.watch || a.end {
			continue
		}
		since := a.at
		for _, e := range s.log {
			if e.rv > since && (s.frozen == 0 || e.rv <= s.frozen) {
				a.data = append(a.data, watchEvent(e.kind, typed(e.body))...)
				a.at = e.rv
			}
		}
		if !a.marked && now >= a.deadline-2000 && a.deadline-2000 > 0 && s.frozen == 0 {
			a.marked, a.at = true, s.rv
			a.data = append(a.data, bookmarkEvent(s.rv, false)...)
		}
		if now >= a.deadline {
			a.end = true
		}
	}
}
