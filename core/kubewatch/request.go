package kubewatch

import (
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

// about is the purpose of a request.
type about uint8

const (
	nothing       about = iota
	identity            // identity of the cluster
	discovery           // of the resource's group
	initialEvents       // a watch with initial events
	page                // a page of a list
	changes             // a watch
	newest              // the newest version, beside a watch
	floor               // the newest version, before a list
	confirmation        // the identity of the cluster again
)

var doing = [...]string{"", "asking the cluster who it is", "discovery", "watch list", "list", "watch", "asking for the newest version",
	"asking for the newest version", "asking the cluster once more who it is"}

// request is a pending request.
type request struct {
	about  about
	stream uint32
	code   int // of the response; zero before it
	retry  int
	body   []byte // of a small response
}

// maxSmall limits responses that are read as a whole.
const maxSmall = 4 << 20

func (f *Feed) ask(what about, path string) {
	f.request = request{about: what, stream: f.cfg.Fetch(path)}
}

func (f *Feed) drop(r *request) {
	if r.stream != 0 {
		f.cfg.Cancel(r.stream)
	}
	*r = request{}
}

// find returns the request of a response, or nil if it was canceled.
func (f *Feed) find(stream uint32) *request {
	switch {
	case stream == 0:
	case stream == f.request.stream:
		return &f.request
	case stream == f.probe.stream:
		return &f.probe
	case stream == f.confirm.stream:
		return &f.confirm
	}
	return nil
}

// Asks reports whether a response belongs to this feed.
func (f *Feed) Asks(stream uint32) bool { return f.find(stream) != nil }

// Fetched handles the status code of a response.
func (f *Feed) Fetched(stream uint32, code, retryAfterSeconds int) {
	r := f.find(stream)
	r.code, r.retry = code, retryAfterSeconds
	if code == 200 && (r.about == initialEvents || r.about == page && !f.listing) {
		f.beginList()
	}
	if code == 200 && r.about == changes && f.unconfirmed {
		f.askAgain()
	}
}

// Data handles a piece of a response body.
func (f *Feed) Data(stream uint32, piece []byte) {
	r := f.find(stream)
	var err error
	switch {
	case r.code != 200, r.about == identity, r.about == discovery, r.about == confirmation:
		if r.body = append(r.body, piece...); len(r.body) > maxSmall {
			err = broken("it is longer than 4 MiB")
		}
	case r.about == changes && f.unconfirmed:
		if f.held = append(f.held, piece...); len(f.held) > maxHeld {
			err = api.Expired("more has changed than is held until the cluster has said who it is")
		}
	case r.about == initialEvents, r.about == changes:
		err = f.lines.feed(piece, func(document []byte, careful bool) error {
			err := f.event(document, careful)
			if err == nil && !f.Asks(stream) {
				return errOver
			}
			return err
		})
	case r.about == page:
		err = f.items.feed(piece, f.listed)
	case r.about == newest, r.about == floor:
		err = f.newestItems.feed(piece, func([]byte) error { return nil })
	}
	// Processing the data may have ended the request.
	if err != nil && f.Asks(stream) {
		f.fail(r, api.AsStatus(err))
	}
}

// errOver stops parsing a body after an event has ended its request.
var errOver = broken("the request is over")

// Closed handles the end of a response. The message is empty for a normal end.
func (f *Feed) Closed(stream uint32, message string) {
	r := f.find(stream)
	about := r.about
	if about == changes && r.code == 200 && message == "" && f.unconfirmed {
		f.ended = true // its data is held back
		return
	}
	r.stream = 0
	switch {
	case message != "":
		f.fail(r, api.Unavailable(message))
	case r.code != 200 && !(r.identifies() && (r.code == api.CodeForbidden || r.code == api.CodeNotFound)):
		f.fail(r, refusal(r))
	case about == identity:
		f.identified(r)
	case about == discovery:
		f.discovered(r)
	case about == initialEvents:
		f.classic = true // too many for the server or the client; pages are smaller
		f.fail(r, api.Unavailable("the server ended the initial events too early"))
	case about == page:
		f.listedPage()
	case about == changes:
		f.watched()
	case about == newest:
		f.probed()
	case about == floor:
		f.raiseFloor()
	case about == confirmation:
		f.confirmed(r)
	}
}

// fail ends the subscription, unless a different request may succeed.
func (f *Feed) fail(r *request, status *api.Status) {
	status.Message = "Kubernetes: " + doing[r.about] + " of " + f.cfg.Resource.String() + ": " + status.Message
	switch {
	case r.about == newest:
		f.reflector.Missed(status)
		f.drop(r)
		return
	case r.about == initialEvents && refusesInitialEvents(status):
		f.classic = true
		f.drop(&f.request)
		if !f.listing {
			f.list()
			return
		}
		status = api.Unavailable(status.Message)
	case r.about == page && f.items.next != "" && status.Code == api.CodeGone:
		f.unpaged = true
	}
	f.end(status)
}

// refusesInitialEvents reports whether the server rejects the options of watches
// with initial events as invalid.
func refusesInitialEvents(s *api.Status) bool {
	return s.Code == api.CodeBadRequest || s.Code == api.CodeInvalid || s.Code == 405 || s.Code == 406
}

// refusal returns the error of a response other than 200.
func refusal(r *request) *api.Status {
	d, err := objectjson.ParseDocument(r.body)
	s := &api.Status{}
	if err == nil && d.Member("kind").Text() == "Status" {
		s = statusOf(d)
	}
	if s.Code == 0 {
		s = &api.Status{
			Code: r.code, Reason: reasonOf(r.code),
			Message: "the server answers " + strconv.Itoa(r.code) + ": " + lite.Quote(beginning(r.body)),
		}
	}
	if r.retry > 0 {
		s.RetryAfterSeconds = r.retry
	}
	if s.Code == api.CodeUnauthorized {
		s.Message += ": the credentials are missing, wrong or expired"
	}
	return s
}

// statusOf parses a Kubernetes Status. The result has code zero if the code is
// not an error.
func statusOf(d objectjson.Document) *api.Status {
	details := d.Member("details")
	s := &api.Status{
		Code: d.Member("code").Int(), Reason: api.Reason(d.Member("reason").Text()), Message: d.Member("message").Text(),
		RetryAfterSeconds: details.Member("retryAfterSeconds").Int(),
	}
	if s.Code < 400 || s.Code > 599 {
		s.Code = 0
	}
	for _, cause := range details.Member("causes").Elements() {
		s.Cause = cause.Member("reason").Text()
		break
	}
	if s.Code == api.CodeGone {
		s.Reason = api.ReasonExpired // some servers use the reason Gone (rule P18)
	}
	return s
}

func beginning(body []byte) string { return string(body[:min(len(body), 300)]) }

func reasonOf(code int) api.Reason {
	switch code {
	case api.CodeBadRequest:
		return api.ReasonBadRequest
	case api.CodeUnauthorized:
		return api.ReasonUnauthorized
	case api.CodeForbidden:
		return api.ReasonForbidden
	case api.CodeNotFound:
		return api.ReasonNotFound
	case api.CodeGone:
		return api.ReasonExpired
	case api.CodeTooManyRequests:
		return api.ReasonTooManyRequests
	case api.CodeInternalError:
		return api.ReasonInternalError
	case api.CodeGatewayTimeout:
		return api.ReasonTimeout
	}
	return api.ReasonUnavailable
}

// query builds a path with query parameters.
type query struct {
	b   strings.Builder
	any bool
}

func (q *query) set(name, value string) {
	if value == "" {
		return
	}
	sign := byte('?')
	if q.any {
		sign = '&'
	}
	q.any = true
	q.b.WriteByte(sign)
	q.b.WriteString(name)
	q.b.WriteByte('=')
	escape(&q.b, value)
}

// collection starts a query for the collection.
func (f *Feed) collection() *query {
	q := &query{}
	q.b.WriteString(groupPath(f.cfg.Resource))
	if f.cfg.Namespace != "" {
		q.b.WriteString("/namespaces/")
		escape(&q.b, f.cfg.Namespace)
	}
	q.b.WriteByte('/')
	escape(&q.b, f.cfg.Resource.Name)
	q.set("labelSelector", f.cfg.LabelSelector)
	q.set("fieldSelector", f.cfg.FieldSelector)
	return q
}

// groupPath returns the path of a group's resources.
func groupPath(r api.Resource) string {
	var b strings.Builder
	b.WriteString("/api/")
	if r.Group != "" {
		b.Reset()
		b.WriteString("/apis/")
		escape(&b, r.Group)
		b.WriteByte('/')
	}
	escape(&b, r.Version)
	return b.String()
}

// escape percent-encodes a text for a path or query.
func escape(b *strings.Builder, text string) {
	const digits = "0123456789ABCDEF"
	for i := range len(text) {
		c := text[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
}
