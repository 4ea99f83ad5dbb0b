package sim

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	body "github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/sim/check"
)

// kubeAPI is a replica of a Kubernetes API server. It shares its lag, outages and
// downtime with the connector of the same number. It retains all versions that are
// not compacted.
type kubeAPI struct {
	*connector
	source  *source
	next    int   // index of the next revision to read
	trouble int64 // it responds with errors before then
	classic bool  // it does not support initial events
	unended bool  // it sends initial events without the end mark
	// careless means that it ignores the minimum version of a list.
	careless bool
	page     int // maximum items of a list page
}

// follow reads the revisions that have arrived.
func (k *kubeAPI) follow() {
	w := k.world
	switch {
	case w.source != k.source:
		k.source, k.next = w.source, k.visible()
	case w.now >= k.cutOff:
		k.next = max(k.next, k.visible())
	}
}

func (k *kubeAPI) rv() api.ResourceVersion {
	if k.next == 0 {
		return k.source.first()
	}
	return k.source.revisions[k.next-1].rv
}

// about is the purpose of a request.
type about uint8

const (
	aboutCluster about = iota
	aboutNewest        // a list with limit 1, for the newest version
	aboutList
	aboutInitial // a watch with initial events
	aboutWatch
)

// asked is a parsed request.
type asked struct {
	about
	kind   int
	filter check.Filter
	query  url.Values
	rv     api.ResourceVersion // zero if unset
}

func readPath(path string) asked {
	u, err := url.Parse(path)
	must(err)
	a := asked{query: u.Query()}
	rest, ok := strings.CutPrefix(u.Path, "/api/v1/")
	if !ok {
		panic("no such path: " + path)
	}
	if rest == "namespaces/kube-system" {
		return a
	}
	if after, ok := strings.CutPrefix(rest, "namespaces/"); ok {
		a.filter.Namespace, rest, _ = strings.Cut(after, "/")
	}
	if rest == "secrets" {
		a.kind = secrets
	}
	a.filter.Labels, a.filter.Fields = a.query.Get("labelSelector"), a.query.Get("fieldSelector")
	if text := a.query.Get("resourceVersion"); text != "" {
		a.rv, err = api.ParseResourceVersion(text)
		must(err)
	}
	switch {
	case a.query.Get("sendInitialEvents") == "true":
		a.about = aboutInitial
	case a.query.Get("watch") == "1":
		a.about = aboutWatch
	case a.query.Get("limit") == "1":
		a.about = aboutNewest
	default:
		a.about = aboutList
	}
	return a
}

// answer starts the response to a request.
func (k *kubeAPI) answer(q asked, r *lite.Rand) *answer {
	w := k.world
	a := &answer{kube: k, asked: q, source: k.source, code: 200, due: w.now}
	consistent := q.about == aboutNewest || q.rv == 0 && q.about != aboutWatch && !q.query.Has("continue")
	switch {
	case w.now < k.downUntil:
		a.code, a.ended, a.message = 0, true, "connection refused"
	case w.now < k.trouble && r.Int63n(2) == 0:
		k.refuse(a, pick(r, 429, 500, 503, 504), "", "try again")
		a.retry = int(r.Int63n(4))
		w.saw(APITrouble)
	case q.about == aboutCluster:
		a.send(fmt.Sprintf(`{"kind":"Namespace","metadata":{"name":"kube-system","uid":%q}}`, k.source.name), nil)
		a.ended = true
	case q.about == aboutInitial && k.classic:
		k.refuse(a, 422, "Invalid", "sendInitialEvents: Forbidden")
		w.saw(APIClassic)
	case consistent && w.now < k.cutOff:
		a.silent = true // the storage does not respond
		w.saw(APISilent)
	case q.about == aboutNewest:
		rv := k.source.rv
		a.send(k.list(nil, rv, ""), nil)
		a.ended = true
		a.complete = func() { a.fetches.current(a, rv) }
	case q.about == aboutWatch:
		k.watch(a, r)
	case q.rv > k.rv() && !k.careless || consistent && k.source.rv > k.rv():
		a.due += 3000
		k.refuse(a, 504, "Timeout", "Too large resource version")
		w.saw(APIBehind)
	case q.about == aboutInitial:
		k.initial(a)
	default:
		k.listPage(a, r)
	}
	return a
}

// refuse turns a response into an error.
func (k *kubeAPI) refuse(a *answer, code int, reason, message string) {
	a.code, a.ended, a.parts = code, true, nil
	a.send(statusJSON(code, reason, message), nil)
}

func statusJSON(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
}

func line(kind, object string) string { return `{"type":"` + kind + `","object":` + object + "}\n" }

// fail ends a watch with an ERROR event.
func (a *answer) fail(code int, reason, message string) {
	a.send(line("ERROR", statusJSON(code, reason, message)), func() { a.over = true })
	a.ended = true
}

// state returns the requested objects at a version; false if some cannot be
// decoded.
func (k *kubeAPI) state(q *asked, rv api.ResourceVersion) ([]check.Item, bool) {
	items := k.source.logs[q.kind].List(rv, q.filter.Match)
	for _, item := range items {
		if item.Object.Faulty {
			return nil, false
		}
	}
	return items, true
}

// object returns the JSON of a version.
func (s *source) object(kind int, key api.Key, rv, stamped api.ResourceVersion) string {
	plain := s.bodies[bodyKey{kind, key, rv}]
	managed := strings.Replace(plain, `"metadata":{`, `"metadata":{"managedFields":[{"manager":"sim"}],`, 1)
	stampedJSON, err := body.SetResourceVersion(nil, []byte(managed), stamped)
	must(err)
	return string(stampedJSON)
}

// initial sends the state as events, the end mark, and then changes.
func (k *kubeAPI) initial(a *answer) {
	items, readable := k.state(&a.asked, k.rv())
	if !readable {
		a.fail(500, "InternalError", "an object cannot be decoded")
		return
	}
	if k.rv() < a.rv {
		k.world.saw(APICareless)
	}
	for _, item := range items {
		a.send(line("ADDED", k.source.object(a.kind, item.Key, item.Object.ResourceVersion, item.Object.ResourceVersion)), nil)
	}
	a.watching, a.next, a.deadline = true, k.next, k.world.now+600_000
	if !k.unended {
		rv := k.rv()
		a.send(bookmark(a.kind, rv, true), func() { a.fetches.listed(a, rv) })
	}
}

func bookmark(kind int, rv api.ResourceVersion, end bool) string {
	annotations := ""
	if end {
		annotations = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	schema := schemaOf(kind)
	return line("BOOKMARK", fmt.Sprintf(`{"kind":%q,"apiVersion":"v1","metadata":{"resourceVersion":"%d"%s}}`, schema.Kind, rv, annotations))
}

// list returns the JSON of a list.
func (k *kubeAPI) list(items []string, rv api.ResourceVersion, next string) string {
	return fmt.Sprintf(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"%d","continue":%q},"items":[%s]}`, rv, next, strings.Join(items, ","))
}

// listPage responds with a page: the first at the current version, later ones at
// that of the first.
func (k *kubeAPI) listPage(a *answer, r *lite.Rand) {
	rv, from := k.rv(), api.Key("")
	if token := a.query.Get("continue"); token != "" {
		version, key, _ := strings.Cut(token, "@")
		n, err := strconv.ParseUint(version, 10, 64)
		must(err)
		rv, from = api.ResourceVersion(n), api.Key(key)
		if rv < k.source.compacted || r.Int63n(20) == 0 {
			k.refuse(a, 410, "Expired", "the provided continue parameter is too old")
			k.world.saw(APIPageExpired)
			return
		}
		k.world.saw(APIPaged)
	}
	items, readable := k.state(&a.asked, rv)
	if !readable {
		k.refuse(a, 500, "InternalError", "an object cannot be decoded")
		return
	}
	var texts []string
	next := ""
	for _, item := range items {
		if item.Key < from {
			continue
		}
		if a.query.Has("limit") && len(texts) == k.page {
			next = rv.String() + "@" + string(item.Key)
			break
		}
		object := k.source.object(a.kind, item.Key, item.Object.ResourceVersion, item.Object.ResourceVersion)
		texts = append(texts, "{"+strings.TrimPrefix(object, headOf(a.kind))) // items of a typed list lack kind and apiVersion
	}
	a.send(k.list(texts, rv, next), nil)
	a.ended = true
	if next == "" {
		a.complete = func() { a.fetches.listed(a, rv) }
	}
}

// watch starts after a version.
func (k *kubeAPI) watch(a *answer, r *lite.Rand) {
	if a.rv < k.source.compacted {
		const why = "too old resource version"
		if r.Int63n(2) == 0 {
			k.refuse(a, 410, "Expired", why)
		} else {
			a.fail(410, "Expired", why)
		}
		k.world.saw(APIExpired)
		return
	}
	seconds, err := strconv.Atoi(a.query.Get("timeoutSeconds"))
	must(err)
	a.watching, a.deadline = true, k.world.now+int64(seconds)*1000
	for a.next < len(k.source.revisions) && k.source.revisions[a.next].rv <= a.rv {
		a.next++
	}
	if k.rv() < a.rv {
		k.world.saw(APIOlder)
	}
}

// more adds new events to a watch.
func (k *kubeAPI) more(a *answer) {
	w := k.world
	for ; !a.ended && a.next < k.next; a.next++ {
		rev := &k.source.revisions[a.next]
		for i := range rev.changes {
			if !a.ended && rev.changes[i].kind == a.kind {
				k.change(a, &rev.changes[i], rev.rv)
			}
		}
	}
	if !a.ended && !a.marked && w.now >= a.deadline-2000 && k.rv() > a.rv {
		a.marked = true
		rv := k.rv()
		a.send(bookmark(a.kind, rv, false), func() { a.fetches.reached(a, rv) })
	}
	if !a.ended && w.now >= a.deadline {
		a.ended = true
		a.complete = func() { a.fetches.reached(a, 0) }
	}
}

// change adds one change, filtered by the selectors.
func (k *kubeAPI) change(a *answer, c *change, rv api.ResourceVersion) {
	log := k.source.logs[a.kind]
	before, now := log.Before(c.key, rv), log.At(c.key, rv)
	if c.fault != nil && a.filter.Match(c.key, &check.Object{Faulty: true}) || now != nil && now.Faulty {
		if k.source.state[a.kind][c.key].fault != nil {
			a.fail(500, "InternalError", "an object cannot be decoded")
		} else {
			a.fail(410, "Expired", "the watch cache was reinitialized")
		}
		return
	}
	was := before != nil && !before.Faulty && a.filter.Match(c.key, before)
	is := a.filter.Match(c.key, now)
	kind, version := "MODIFIED", rv
	switch {
	case !was && !is:
		return
	case !was:
		kind = "ADDED"
	case !is:
		kind, version = "DELETED", before.ResourceVersion
	}
	done := func() { a.fetches.reached(a, rv) }
	if a.about == aboutInitial {
		done = nil // the end of the state was not marked
	}
	a.send(line(kind, k.source.object(a.kind, c.key, version, rv)), done)
}

func headOf(kind int) string {
	schema := schemaOf(kind)
	return `{"kind":"` + schema.Kind + `","apiVersion":"v1",`
}

// buildKubes creates an API server for each connector.
func (w *world) buildKubes(r *lite.Rand) {
	for _, c := range w.connectors {
		k := &kubeAPI{connector: c, source: w.source, classic: r.Int63n(3) == 0, unended: r.Int63n(6) == 0, careless: r.Int63n(3) == 0, page: pick(r, 2, 7, 100)}
		k.follow()
		w.kubes = append(w.kubes, k)
	}
}

// readKubernetes connects a reader directly to the API servers.
func (rd *reader) readKubernetes(r *lite.Rand) {
	rd.config.Kubernetes = "https://kubernetes.default"
	rd.fetches = &fetches{driver: &rd.driver, servers: rd.world.kubes, target: pick(r, rd.world.kubes...), balanced: r.Int63n(3) == 0, rand: r}
}

// kubeOps are the ops on API servers.
var kubeOps = []kindOfOp{
	{"api-trouble", 5, onKube(func(k *kubeAPI, r *lite.Rand) {
		k.trouble = k.world.now + pick[int64](r, 2000, 20_000, 60_000)
	})},
	{"api-upgrade", 2, onKube(func(k *kubeAPI, r *lite.Rand) {
		k.classic, k.unended, k.page = r.Int63n(3) == 0, r.Int63n(5) == 0, pick(r, 2, 7, 100)
	})},
	{"api-compact", 4, (*world).opCompactAPI},
}

func onKube(f func(*kubeAPI, *lite.Rand)) func(*world, *lite.Rand) {
	return func(w *world, r *lite.Rand) {
		if len(w.kubes) > 0 {
			f(pick(r, w.kubes...), r)
		}
	}
}

// opCompactAPI compacts everything while there are changes that not all servers
// have seen, and breaks all watches.
func (w *world) opCompactAPI(r *lite.Rand) {
	w.source.compacted = w.source.rv
	w.connector(r).lag = 15_000
	w.opBurst(r)
	for _, rd := range w.readers {
		if rd.fetches != nil {
			rd.fetches.target = pick(r, w.kubes...)
			rd.fetches.hangUp(nil)
		}
	}
}
