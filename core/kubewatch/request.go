package kubewatch

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Request is a GET request that accepts JSON. Its limits are in milliseconds; zero
// means none.
type Request struct {
	// Path and Query are percent-encoded.
	Path, Query string
	// Timeout limits the request as a whole, and Idle the time to the next byte of the
	// response. The driver calls TimedOut when the request exceeds a limit.
	Timeout, Idle int64
}

// String returns the path with its query.
func (r Request) String() string {
	if r.Query == "" {
		return r.Path
	}
	return r.Path + "?" + r.Query
}

// set adds a query parameter, unless its value is empty.
func (r *Request) set(name, value string) {
	if value == "" {
		return
	}
	var b strings.Builder
	b.WriteString(r.Query)
	if r.Query != "" {
		b.WriteByte('&')
	}
	b.WriteString(name)
	b.WriteByte('=')
	escape(&b, value)
	r.Query = b.String()
}

// collection returns a request for the collection, with its selectors but no other
// parameters.
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

// groupPath returns the path of the group and version of a resource.
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

// purpose determines how the response to a request is handled.
type purpose uint8

const (
	none          purpose = iota
	identity              // identity of the cluster
	discovery             // discovery of the resource's group
	initialEvents         // a watch with initial events
	page                  // a page of a list
	changes               // a watch
	newest                // the newest version, concurrently with a watch
	minimum               // the newest version, before a list
	resume                // the newest version, before a resumption
	confirmation          // the identity of the cluster again
)

var doing = [...]string{
	identity: "asking the cluster who it is", discovery: "discovery", initialEvents: "watch list", page: "list", changes: "watch",
	newest: "asking for the newest version", minimum: "asking for the newest version", resume: "resume",
	confirmation: "asking the cluster once more who it is",
}

// request is a pending request.
type request struct {
	purpose purpose
	stream  uint32
	Response
}

// send starts a request and stores it in pending.
//
//go:noinline
func (c *Client) send(pending *request, p purpose, r Request) {
	*pending = request{purpose: p}
	pending.stream = c.cfg.Fetch(r)
}

// fetch sends the request of the current phase.
//
//go:noinline
func (c *Client) fetch(p purpose, r Request) { c.send(&c.request, p, r) }

// fetchIdentity requests the identity of the cluster.
//
//go:noinline
func (c *Client) fetchIdentity(pending *request, p purpose) {
	c.send(pending, p, Request{Path: identityPath, Timeout: c.cfg.RequestTimeout})
}

// fetchNewest requests the newest version of the server, which is the version of a list
// with limit 1.
func (c *Client) fetchNewest(pending *request, p purpose) {
	r := c.collection()
	r.set("limit", "1")
	r.Timeout = c.cfg.RequestTimeout
	c.newestItems = items{}
	c.send(pending, p, r)
}

// newestVersion returns the version in the response to fetchNewest, or zero if the
// response is invalid.
func (c *Client) newestVersion() api.ResourceVersion {
	rv, err := api.ParseResourceVersion(c.newestItems.version)
	if err != nil || !c.newestItems.end() {
		return 0
	}
	return rv
}

//go:noinline
func (c *Client) drop(r *request) {
	if r.stream != 0 {
		c.cfg.Cancel(r.stream)
	}
	*r = request{}
}

// find returns the pending request of a stream, or nil if the request has ended or was
// canceled.
//
//go:noinline
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

// Requested reports whether the client awaits more of the response on a stream. The
// client ignores the data of other streams.
//
//go:noinline
func (c *Client) Requested(stream uint32) bool { return c.find(stream) != nil }
