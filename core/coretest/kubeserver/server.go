// Package kubeserver is a model of kube-apiserver without I/O, for tests. A [Server]
// serves lists and watches of a [Storage], and misbehaves on request. The tests in
// host/conformance show that a real kube-apiserver behaves like a Server whose faults are
// off.
package kubeserver

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Storage provides the objects and events that a server serves.
type Storage interface {
	// List returns the requested objects as of a version, in the order of their keys. It
	// returns false if one of the objects cannot be decoded.
	List(r *Request, rv api.ResourceVersion) ([]Event, bool)
	// Changes returns the requested events with versions greater than "after" and at most
	// "upTo". An event of type ERROR, whose object is a Status, ends the watch.
	Changes(r *Request, after, upTo api.ResourceVersion) []Event
}

// Event is a watch event, or an object of a list. The JSON begins with the object's kind
// and apiVersion.
type Event struct {
	Type            string
	Key             api.Key
	ResourceVersion api.ResourceVersion
	JSON            string
}

// Line returns the event as a line of watch JSON.
func (e Event) Line() string { return Line(e.Type, e.JSON) }

// Line returns an event with the given type and object as a line of watch JSON.
func Line(kind, object string) string { return `{"type":"` + kind + `","object":` + object + "}\n" }

// Status returns the JSON of a Kubernetes Status for an error.
func Status(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
}

// Bookmark returns a bookmark as a line of watch JSON. If end is set, an annotation of
// the bookmark marks the end of the initial events.
func Bookmark(kind string, rv api.ResourceVersion, end bool) string {
	annotations := ""
	if end {
		annotations = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return Line("BOOKMARK", fmt.Sprintf(`{"kind":%q,"apiVersion":"v1","metadata":{"resourceVersion":"%d"%s}}`, kind, rv, annotations))
}

// Server is one replica of an API server.
type Server struct {
	Storage           Storage
	UID               string            // UID of the namespace kube-system
	Kinds             map[string]string // kinds of the served resources, by resource
	Newest, Compacted api.ResourceVersion
	Known             api.ResourceVersion // the version that the replica has reached; zero means Newest
	PageSize          int                 // maximum items of a page

	Classic     bool // does not support initial events
	Unended     bool // sends initial events without the end mark
	Careless    bool // ignores the minimum version of a list
	ExpirePages bool // responds to each page after the first with 410
	RefuseStale bool // responds to an expired watch with status 410, and not with an event
}

func (s *Server) known() api.ResourceVersion {
	if s.Known != 0 {
		return s.Known
	}
	return s.Newest
}

// Fact is what a client knows after it has processed a part of a response.
type Fact uint8

const (
	Nothing Fact = iota
	Listed       // the complete state at a version
	Current      // the newest version of the storage
	Reached      // all changes up to a version; zero means the version stays the same
	Failed       // the watch has failed
)

// Part is a piece of a response. The client knows the Fact, as of version At, when the
// piece has arrived completely.
type Part struct {
	Data string
	Fact
	At api.ResourceVersion
}

// Response is a response in progress.
type Response struct {
	Request
	Code, RetryAfter int
	Parts            []Part // not delivered yet
	Ended            bool   // no further parts follow
	End              Part   // what the client knows after the end
	Watching         bool
	Sent             api.ResourceVersion // the position of a watch
	Deadline         int64
	Marked           bool // the bookmark before the end was sent, or is not due
}

func (a *Response) send(data string, fact Fact, at api.ResourceVersion) {
	a.Parts = append(a.Parts, Part{data, fact, at})
}

// Refuse replaces the response with an error.
func (a *Response) Refuse(code int, reason, message string) {
	a.Code, a.Ended, a.Parts = code, true, nil
	a.send(Status(code, reason, message), Nothing, 0)
}

// fail ends a watch with an ERROR event.
func (a *Response) fail(status string) {
	a.send(Line("ERROR", status), Failed, 0)
	a.Ended = true
}

// Respond starts the response to a request.
func (s *Server) Respond(r Request, now int64) *Response {
	a := &Response{Request: r, Code: api.CodeOK}
	switch known := s.known(); {
	case r.Purpose == Cluster:
		a.send(fmt.Sprintf(`{"kind":"Namespace","metadata":{"name":"kube-system","uid":%q}}`, s.UID), Nothing, 0)
		a.Ended = true
	case s.Kinds[r.Resource] == "":
		a.Refuse(api.CodeNotFound, "NotFound", "the server could not find the requested resource")
	case r.Purpose == Initial && s.Classic:
		a.Refuse(api.CodeInvalid, "Invalid", "sendInitialEvents: Forbidden")
	case r.Purpose == Newest:
		s.list(a, nil, s.Newest, "", Current)
	case r.Purpose == Watch:
		s.watch(a, now)
	case r.ResourceVersion > known && !s.Careless || r.Consistent() && s.Newest > known:
		a.Refuse(api.CodeGatewayTimeout, "Timeout", "Too large resource version")
	case r.Purpose == Initial:
		s.initial(a, now)
	default:
		s.page(a)
	}
	return a
}

const undecodable = "an object cannot be decoded"

// initial sends the state as events, the end mark, and then changes.
func (s *Server) initial(a *Response, now int64) {
	rv := s.known()
	objects, readable := s.Storage.List(&a.Request, rv)
	if !readable {
		a.fail(Status(api.CodeInternalError, "InternalError", undecodable))
		return
	}
	for _, o := range objects {
		a.send(Line("ADDED", o.JSON), Nothing, 0)
	}
	a.Watching, a.Sent, a.Deadline = true, rv, now+600_000
	if !s.Unended {
		a.send(Bookmark(s.Kinds[a.Resource], rv, true), Listed, rv)
	}
}

// page sends a page of a list. The first page is at the known version, and later pages
// are at the version of the first page.
func (s *Server) page(a *Response) {
	rv, from := s.known(), api.Key("")
	if a.Query.Has("continue") {
		if rv, from = a.Page(); s.ExpirePages || rv < max(s.Compacted, 1) {
			a.Refuse(api.CodeGone, "Expired", "the provided continue parameter is too old")
			return
		}
	}
	objects, readable := s.Storage.List(&a.Request, rv)
	if !readable {
		a.Refuse(api.CodeInternalError, "InternalError", undecodable)
		return
	}
	size := len(objects)
	if limit, _ := strconv.Atoi(a.Query.Get("limit")); limit > 0 {
		size = min(limit, s.PageSize)
	}
	head := `{"kind":"` + s.Kinds[a.Resource] + `","apiVersion":"v1",` // the items of a typed list omit these members
	var items []string
	for _, o := range objects {
		if o.Key < from {
			continue
		}
		if len(items) == size {
			s.list(a, items, rv, rv.String()+"@"+string(o.Key), Nothing)
			return
		}
		items = append(items, "{"+strings.TrimPrefix(o.JSON, head))
	}
	s.list(a, items, rv, "", Listed)
}

// list sends a list. The argument end is what a client knows after receiving it.
func (s *Server) list(a *Response, items []string, rv api.ResourceVersion, next string, end Fact) {
	a.send(fmt.Sprintf(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"%d","continue":%q},"items":[%s]}`, rv, next, strings.Join(items, ",")), Nothing, 0)
	a.Ended, a.End = true, Part{Fact: end, At: rv}
}

// watch starts a watch after the requested version.
func (s *Server) watch(a *Response, now int64) {
	const why = "too old resource version"
	switch stale := a.ResourceVersion < s.Compacted; {
	case stale && s.RefuseStale:
		a.Refuse(api.CodeGone, "Expired", why)
	case stale:
		a.fail(Status(api.CodeGone, "Expired", why))
	default:
		seconds, err := strconv.Atoi(a.Query.Get("timeoutSeconds"))
		if err != nil {
			seconds = 1800
		}
		a.Watching, a.Sent, a.Deadline = true, a.ResourceVersion, now+int64(seconds)*1000
		a.Marked = seconds <= 2 // so short a watch gets no bookmark before its end (rule W20)
	}
}

// Advance appends the parts of a watch that are due: events, the bookmark before the end,
// and the end.
func (s *Server) Advance(a *Response, now int64) {
	if !a.Watching || a.Ended {
		return
	}
	known := s.known()
	if known > a.Sent {
		for _, e := range s.Storage.Changes(&a.Request, a.Sent, known) {
			switch {
			case e.Type == "ERROR":
				a.fail(e.JSON)
				return
			case a.Purpose == Initial: // without an end mark, a client cannot tell that the state is complete
				a.send(Line(e.Type, e.JSON), Nothing, 0)
			default:
				a.send(Line(e.Type, e.JSON), Reached, e.ResourceVersion)
			}
		}
		a.Sent = known
	}
	if !a.Marked && now >= a.Deadline-2000 && known > a.ResourceVersion {
		a.Marked = true
		a.send(Bookmark(s.Kinds[a.Resource], known, false), Reached, known)
	}
	if now >= a.Deadline {
		a.Ended, a.End = true, Part{Fact: Reached}
	}
}
