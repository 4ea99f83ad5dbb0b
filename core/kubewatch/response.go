package kubewatch

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
)

// Response is a response that is read as a whole, such as an error or a small
// document.
type Response struct {
	Code              int // zero before the response begins
	RetryAfterSeconds int
	Body              []byte
}

// maxSmall limits the size of a response that is read as a whole, in bytes.
const maxSmall = 4 << 20

// Responded handles the status code of a response and its Retry-After header. Without the
// header, retryAfterSeconds is zero.
func (c *Client) Responded(stream uint32, code, retryAfterSeconds int) {
	r := c.find(stream)
	if r == nil {
		return
	}
	r.Code, r.RetryAfterSeconds = code, retryAfterSeconds
	switch {
	case code != api.CodeOK:
	case c.phase == requestingList:
		c.beginList()
	case r.purpose != changes:
	case c.phase == confirmingWatch:
		c.confirmCluster()
	case !c.cfg.Roaming:
		c.probeNewest()
	}
}

// Data handles a piece of a response body.
func (c *Client) Data(stream uint32, piece []byte) {
	r := c.find(stream)
	if r == nil {
		return
	}
	var err error
	switch {
	case r.Code != api.CodeOK, r.purpose == identity, r.purpose == discovery, r.purpose == confirmation:
		if r.Body = append(r.Body, piece...); len(r.Body) > maxSmall {
			err = broken("it is longer than 4 MiB")
		}
	case r.purpose == changes && c.phase == confirmingWatch:
		if c.held = append(c.held, piece...); len(c.held) > maxHeld {
			err = api.Expired("too many changes arrived before the identity of the cluster")
		}
	case r.purpose == initialEvents, r.purpose == changes:
		err = c.lines.feed(piece, func(document []byte, careful bool) error {
			err := c.event(document, careful)
			if err == nil && !c.Requested(stream) {
				return errOver
			}
			return err
		})
	case r.purpose == page:
		err = c.items.feed(piece, c.listItem)
	default:
		err = c.newestItems.feed(piece, func([]byte) error { return nil })
	}
	// Processing the data may have ended the request.
	if err != nil && c.Requested(stream) {
		c.fail(r, api.AsStatus(err))
	}
}

// errOver stops the parser of a body after an event in the body has ended the request.
var errOver = broken("the request is over")

// Closed handles the end of a response. The message is empty for a normal end.
func (c *Client) Closed(stream uint32, message string) {
	r := c.find(stream)
	if r == nil {
		return
	}
	if r.purpose == changes && r.Code == api.CodeOK && message == "" && c.phase == confirmingWatch {
		c.phase = confirmingEndedWatch
		return
	}
	r.stream = 0
	switch {
	case message != "":
		c.fail(r, api.Unavailable(message))
	case r.Code != api.CodeOK && !(r.identifies() && (r.Code == api.CodeForbidden || r.Code == api.CodeNotFound)):
		c.fail(r, r.Refusal())
	default:
		c.finish(r)
	}
}

func (r *request) identifies() bool { return r.purpose == identity || r.purpose == confirmation }

// finish handles the normal end of a response.
func (c *Client) finish(r *request) {
	switch r.purpose {
	case identity:
		c.identified(r)
	case discovery:
		c.discovered(r)
	case initialEvents:
		c.listInPages(api.Unavailable(c.about(r) + "the server ended the initial events too early"))
	case page:
		c.endPage()
	case changes:
		c.endWatch()
	case newest:
		c.probed()
	case minimum:
		c.raiseFloor()
	case resume:
		c.checkResume()
	case confirmation:
		c.confirmed(r)
	}
}

// TimedOut handles the end of a response that exceeded a limit of its request.
func (c *Client) TimedOut(stream uint32, message string) {
	if r := c.find(stream); r != nil && r.purpose == initialEvents && r.Code == api.CodeOK {
		// A server that ignores sendInitialEvents may send the state, but never the end
		// mark.
		r.stream = 0
		c.listInPages(api.Unavailable(c.about(r) + message))
		return
	}
	c.Closed(stream, message)
}

// about returns the prefix of error messages about a request.
//
//go:noinline
func (c *Client) about(r *request) string {
	return c.cfg.Server + ": " + doing[r.purpose] + " of " + c.cfg.Resource.String() + ": "
}

// fail handles a failed request. It ends the run, unless the watch can continue without
// the response or a different request may succeed.
func (c *Client) fail(r *request, status *api.Status) {
	status.Message = c.about(r) + status.Message
	switch {
	case r.purpose == newest:
		c.cfg.Handler.Lagging(status)
		c.drop(r)
		return
	case r.purpose == initialEvents && refusesInitialEvents(status):
		c.listInPages(status)
		return
	case r.purpose == page && c.items.next != "" && status.Code == api.CodeGone:
		c.method = inOnePage
		if c.cfg.RestartsList {
			c.drop(&c.request)
			c.list()
			return
		}
	}
	c.End(status)
}

// refusesInitialEvents reports whether the server rejects the options of watches
// with initial events as invalid.
func refusesInitialEvents(s *api.Status) bool {
	return s.Code == api.CodeBadRequest || s.Code == api.CodeInvalid || s.Code == 405 || s.Code == 406
}

// Refusal returns the error of a response whose code is not 200.
func (r *Response) Refusal() *api.Status {
	d, err := objectjson.ParseDocument(r.Body)
	s := &api.Status{}
	if err == nil && d.Member("kind").Text() == "Status" {
		s = statusOf(d)
	}
	if s.Code == 0 {
		s = &api.Status{
			Code: r.Code, Reason: reasonOf(r.Code),
			Message: "the server returned " + strconv.Itoa(r.Code) + ": " + lite.Quote(beginning(r.Body)),
		}
	}
	if r.RetryAfterSeconds > 0 {
		s.RetryAfterSeconds = r.RetryAfterSeconds
	}
	if s.Code == api.CodeUnauthorized {
		s.Message += ": the credentials are missing, wrong or expired"
	}
	return s
}

// statusOf parses a Kubernetes Status. The result has code zero if the parsed code is not
// an error code.
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

// broken returns the error for an invalid response body. Callers retry after this error,
// because responses of aggregated APIs are often invalid only temporarily.
//
//go:noinline
func broken(message string) *api.Status {
	return &api.Status{Code: api.CodeBadGateway, Reason: api.ReasonInternalError, Message: "the server's response is invalid: " + message}
}
