package sim

import (
	"slices"
	"sort"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/kubeserver"
	"github.com/watchglass/watchglass/core/internal/lite"
	body "github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/sim/check"
)

// kubeAPI is a replica of a Kubernetes API server. It shares its lag, outages and
// downtime with the connector of the same number. It retains all versions that are
// not compacted.
type kubeAPI struct {
	*connector
	kubeserver.Server
	source  *source
	next    int   // index of the next revision to read
	trouble int64 // before this time, it responds to some requests with errors
}

// follow reads the revisions that have arrived.
func (k *kubeAPI) follow() {
	w := k.world
	switch {
	case w.source != k.source:
		k.source, k.Storage, k.next = w.source, w.source, k.visible()
	case w.now >= k.cutOff:
		k.next = max(k.next, k.visible())
	}
	k.Known = k.source.first()
	if k.next > 0 {
		k.Known = k.source.revisions[k.next-1].rv
	}
}

// respond starts the response to a request.
func (k *kubeAPI) respond(q kubeserver.Request, r *lite.Rand) *answer {
	w := k.world
	a := &answer{kube: k, source: k.source, due: w.now, Response: &kubeserver.Response{Request: q}}
	switch {
	case w.now < k.downUntil:
		a.Ended, a.message = true, "connection refused"
		return a
	case w.now < k.trouble && r.Int63n(2) == 0:
		a.Refuse(pick(r, api.CodeTooManyRequests, api.CodeInternalError, api.CodeServiceUnavailable, api.CodeGatewayTimeout), "", "try again")
		a.RetryAfter = int(r.Int63n(4))
		w.saw(APITrouble)
		return a
	case q.Consistent() && w.now < k.cutOff && !(q.Purpose == kubeserver.Initial && k.Classic):
		a.Code, a.silent = api.CodeOK, true // the storage does not respond
		w.saw(APISilent)
		return a
	case q.Query.Has("continue"):
		rv, _ := q.Page()
		k.ExpirePages = rv < k.source.compacted || r.Int63n(20) == 0
	case q.Purpose == kubeserver.Watch && q.ResourceVersion < k.source.compacted:
		k.RefuseStale = r.Int63n(2) == 0
	}
	k.UID, k.Newest, k.Compacted = k.source.name, k.source.rv, k.source.compacted
	a.Response = k.Respond(q, w.now)
	if a.Code == api.CodeGatewayTimeout {
		a.due += 3000
	}
	k.cover(a)
	return a
}

// cover records the situations that a response covers.
func (k *kubeAPI) cover(a *answer) {
	w := k.world
	switch {
	case a.Code == api.CodeNotFound:
		panic("no such path: " + a.Resource)
	case a.Code == api.CodeInvalid:
		w.saw(APIClassic)
	case a.Code == api.CodeGatewayTimeout:
		w.saw(APIBehind)
	case a.Query.Has("continue"):
		w.saw(APIPaged)
		if a.Code == api.CodeGone {
			w.saw(APIPageExpired)
		}
	case a.Purpose == kubeserver.Watch && a.Ended:
		w.saw(APIExpired)
	case a.Purpose == kubeserver.Watch && k.Known < a.ResourceVersion:
		w.saw(APIOlder)
	case a.Purpose == kubeserver.Initial && k.Known < a.ResourceVersion && !a.Ended:
		w.saw(APICareless)
	}
}

// scopeOf returns the kind and the filter of a request.
func scopeOf(q *kubeserver.Request) (kind int, filter check.Filter) {
	return slices.Index(resourceNames[:], q.Resource), check.Filter{Namespace: q.Namespace, Labels: q.Labels, Fields: q.Fields}
}

// List implements [kubeserver.Storage].
func (s *source) List(q *kubeserver.Request, rv api.ResourceVersion) (objects []kubeserver.Event, ok bool) {
	kind, filter := scopeOf(q)
	for _, item := range s.logs[kind].List(rv, filter.Match) {
		if item.Object.Faulty {
			return nil, false
		}
		version := item.Object.ResourceVersion
		objects = append(objects, kubeserver.Event{Key: item.Key, JSON: s.object(kind, item.Key, version, version)})
	}
	return objects, true
}

// object returns the JSON of the version rv, with "stamped" as its resource version.
func (s *source) object(kind int, key api.Key, rv, stamped api.ResourceVersion) string {
	plain := s.bodies[bodyKey{kind, key, rv}]
	managed := strings.Replace(plain, `"metadata":{`, `"metadata":{"managedFields":[{"manager":"sim"}],`, 1)
	stampedJSON, err := body.SetResourceVersion(nil, []byte(managed), stamped)
	must(err)
	return string(stampedJSON)
}

// Changes implements [kubeserver.Storage].
func (s *source) Changes(q *kubeserver.Request, after, upTo api.ResourceVersion) (events []kubeserver.Event) {
	kind, filter := scopeOf(q)
	start := sort.Search(len(s.revisions), func(i int) bool { return s.revisions[i].rv > after })
	for _, rev := range s.revisions[start:] {
		if rev.rv > upTo {
			break
		}
		for i := range rev.changes {
			if c := &rev.changes[i]; c.kind == kind {
				if e := s.event(c, rev.rv, filter); e.Type != "" {
					events = append(events, e)
				}
			}
		}
	}
	return events
}

// event returns the event of a change for a watch with selectors. The event is empty if
// the change does not match the watch.
func (s *source) event(c *change, rv api.ResourceVersion, filter check.Filter) kubeserver.Event {
	log := s.logs[c.kind]
	before, now := log.Before(c.key, rv), log.At(c.key, rv)
	if c.fault != nil && filter.Match(c.key, &check.Object{Faulty: true}) || now != nil && now.Faulty {
		status := kubeserver.Status(api.CodeGone, "Expired", "the watch cache was reinitialized")
		if s.state[c.kind][c.key].fault != nil {
			status = kubeserver.Status(api.CodeInternalError, "InternalError", "an object cannot be decoded")
		}
		return kubeserver.Event{Type: "ERROR", JSON: status}
	}
	was := before != nil && !before.Faulty && filter.Match(c.key, before)
	is := filter.Match(c.key, now)
	kind, version := "MODIFIED", rv
	switch {
	case !was && !is:
		return kubeserver.Event{}
	case !was:
		kind = "ADDED"
	case !is:
		kind, version = "DELETED", before.ResourceVersion
	}
	return kubeserver.Event{Type: kind, ResourceVersion: rv, JSON: s.object(c.kind, c.key, version, rv)}
}

// buildKubes creates an API server for each connector.
func (w *world) buildKubes(r *lite.Rand) {
	for _, c := range w.connectors {
		k := &kubeAPI{connector: c, source: w.source, Server: kubeserver.Server{
			Storage: w.source, Kinds: map[string]string{resourceNames[pods]: "Pod", resourceNames[secrets]: "Secret"}, Classic: r.Int63n(3) == 0, Unended: r.Int63n(6) == 0, Careless: r.Int63n(3) == 0, PageSize: pick(r, 2, 7, 100),
		}}
		k.follow()
		w.kubes = append(w.kubes, k)
	}
}

// readKubernetes connects a reader directly to the API servers.
func (rd *reader) readKubernetes(r *lite.Rand) {
	rd.config.Kubernetes = "https://kubernetes.default"
	rd.fetches = &fetches{
		driver: &rd.driver, servers: rd.world.kubes, target: pick(r, rd.world.kubes...), balanced: r.Int63n(3) == 0,
		late: rd.id%2 == 1, rand: r,
	}
}

// kubeOps are the ops on API servers.
var kubeOps = []kindOfOp{
	{"api-trouble", 5, onKube(func(k *kubeAPI, r *lite.Rand) {
		k.trouble = k.world.now + pick[int64](r, 2000, 20_000, 60_000)
	})},
	{"api-upgrade", 2, onKube(func(k *kubeAPI, r *lite.Rand) {
		k.Classic, k.Unended, k.PageSize = r.Int63n(3) == 0, r.Int63n(5) == 0, pick(r, 2, 7, 100)
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

// opCompactAPI compacts all existing versions, makes changes that at least one server receives
// late, and breaks all watches.
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
