package kubewatch

import (
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Request is a GET request that accepts JSON. Its limits are in milliseconds; zero
// means none.
type Request struct {
	Path  string
	Query []Parameter
	// Timeout limits the request as a whole, and Idle the time to the next byte of
	// the response. A driver that enforces them reports TimedOut.
	Timeout, Idle int64
}

// Parameter is a query parameter.
type Parameter struct{ Name, Value string }

// String returns the path with its query.
func (r Request) String() string {
	var b strings.Builder
	b.WriteString(r.Path)
	for i, p := range r.Query {
		b.WriteByte("?&"[min(i, 1)])
		b.WriteString(p.Name)
		b.WriteByte('=')
		escape(&b, p.Value)
	}
	return b.String()
}

// Get returns the value of a query parameter, or the empty string.
func (r Request) Get(name string) string {
	for _, p := range r.Query {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// set adds a query parameter, unless its value is empty.
func (r *Request) set(name, value string) {
	if value != "" {
		r.Query = append(r.Query, Parameter{name, value})
	}
}

// collection starts a request for the collection.
func (c *Client) collection() Request {
	var b strings.Builder
	b.WriteString(groupPath(c.cfg.Resource))
	if c.cfg.Namespace != "" {
		b.WriteString("/namespaces/")
		escape(&b, c.cfg.Namespace)
	}
	b.WriteByte('/')
	escape(&b, c.cfg.Resource.Name)
	r := Request{Path: b.String()}
	r.set("labelSelector", c.cfg.LabelSelector)
	r.set("fieldSelector", c.cfg.FieldSelector)
	return r
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

// purpose is the purpose of a request.
type purpose uint8

const (
	none          purpose = iota
	identity              // identity of the cluster
	discovery             // of the resource's group
	initialEvents         // a watch with initial events
	page                  // a page of a list
	changes               // a watch
	newest                // the newest version, beside a watch
	floor                 // the newest version, before a list
	resume                // the newest version, before a resumption
	confirmation          // the identity of the cluster again
)

var doing = [...]string{
	identity: "asking the cluster who it is", discovery: "discovery", initialEvents: "watch list", page: "list", changes: "watch",
	newest: "asking for the newest version", floor: "asking for the newest version", resume: "resume",
	confirmation: "asking the cluster once more who it is",
}

// request is a pending request.
type request struct {
	purpose purpose
	stream  uint32
	Response
}

func (c *Client) send(p purpose, r Request) request {
	return request{purpose: p, stream: c.cfg.Fetch(r)}
}

// fetch sends the request of the phase.
func (c *Client) fetch(p purpose, r Request) { c.request = c.send(p, r) }

// fetchNewest requests a list with limit 1, whose version is the newest.
func (c *Client) fetchNewest(p purpose) request {
	r := c.collection()
	r.set("limit", strconv.Itoa(1))
	r.Timeout = c.cfg.RequestTimeout
	c.newestItems = items{}
	return c.send(p, r)
}

// newestVersion returns the version of that list, or zero if the response is
// invalid.
func (c *Client) newestVersion() api.ResourceVersion {
	rv, err := api.ParseResourceVersion(c.newestItems.version)
	if err != nil || !c.newestItems.end() {
		return 0
	}
	return rv
}

func (c *Client) drop(r *request) {
	if r.stream != 0 {
		c.cfg.Cancel(r.stream)
	}
	*r = request{}
}

// find returns the request of a response, or nil if it was canceled.
func (c *Client) find(stream uint32) *request {
	switch {
	case stream == 0:
	case stream == c.request.stream:
		return &c.request
	case stream == c.probe.stream:
		return &c.probe
	case stream == c.confirm.stream:
		return &c.confirm
	}
	return nil
}

// Requested reports whether the client awaits more of a response. It ignores other
// responses.
func (c *Client) Requested(stream uint32) bool { return c.find(stream) != nil }
