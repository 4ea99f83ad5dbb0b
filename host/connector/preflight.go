package connector

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

// preflight contains the results that a message needs from the source and the policy. The
// reader requests these results before it processes the message under the lock, because the
// requests may use the network.
type preflight struct {
	prompts  bool // the message requests progress
	greeting bool // the message has a Hello
	token    string
	user     *access.User
	refused  *api.Status // why the reader was refused

	schemas map[api.Resource]schema
	rights  map[access.Request]right
}

// right is the policy's decision about a request.
type right struct {
	refused  *api.Status // nil if granted
	reviewAt time.Time
}

// schema is the source's description of a resource.
type schema struct {
	schema *api.Schema
	status *api.Status
}

// has reports whether status is one of the refusals that preflight received from the
// policy or the source.
func (p *preflight) has(status *api.Status) bool {
	if status == p.refused {
		return true
	}
	for _, right := range p.rights {
		if status == right.refused {
			return true
		}
	}
	for _, schema := range p.schemas {
		if status == schema.status {
			return true
		}
	}
	return false
}

// preflight sends all requests that a message needs. It ignores errors in the message,
// which the session reports.
func (r *reader) preflight(ctx context.Context, message *session.Message) *preflight {
	found := &preflight{schemas: map[api.Resource]schema{}, rights: map[access.Request]right{}}
	user := r.currentUser()
	for _, frame := range message.Frames {
		switch f := frame.(type) {
		case *wire.Hello:
			r.authenticateHello(ctx, f, found)
			user = found.user
		case *wire.RequestProgress:
			found.prompts = true
		case *session.Request:
			if user != nil && f.Refused == nil {
				r.authorize(ctx, user, f, found)
			}
		}
	}
	return found
}

func (r *reader) authenticateHello(ctx context.Context, hello *wire.Hello, found *preflight) {
	if found.greeting {
		return
	}
	r.silence.Stop()
	ctx, cancel := context.WithTimeout(ctx, r.connector.lookupTimeout())
	defer cancel()
	found.greeting, found.token = true, strings.Clone(hello.Token)
	found.user, found.refused = r.connector.access.Authenticate(ctx, found.token)
}

// authorize asks the policy about a subscription, and looks up the resource only if the
// policy permits it. A refusal thus does not disclose whether the resource exists.
func (r *reader) authorize(ctx context.Context, user *access.User, asked *session.Request, found *preflight) {
	request := accessRequest(asked)
	if _, known := found.rights[request]; known {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, r.connector.lookupTimeout())
	defer cancel()
	var decided right
	decided.reviewAt, decided.refused = r.connector.access.Authorize(bounded, user, request)
	found.rights[request] = decided
	if _, known := found.schemas[asked.Resource]; decided.refused == nil && !known {
		found.schemas[asked.Resource] = r.connector.schema(ctx, asked.Resource)
	}
}

// accessRequest returns the access request that the policy must grant for a subscription.
func accessRequest(asked *session.Request) access.Request {
	return access.NewRequest(asked.Resource, strings.Clone(asked.Frame.Namespace), asked.Selection.Fields)
}

func (c *Connector) lookupTimeout() time.Duration {
	return c.config.Limits.Duration(limit.LookupTimeout)
}

func (c *Connector) schema(ctx context.Context, resource api.Resource) schema {
	bounded, cancel := context.WithTimeout(ctx, c.lookupTimeout())
	defer cancel()
	found, err := c.config.Source.Schema(bounded, resource)
	var status *api.Status
	switch {
	case err == nil:
		return schema{schema: found.WithTimes()}
	case errors.As(err, &status):
		return schema{status: status}
	case bounded.Err() != nil && ctx.Err() == nil:
		return schema{status: c.config.Limits.Refuse(limit.LookupTimeout, "the source did not describe "+resource.String()+" in time")}
	}
	return schema{status: api.Unavailable("the source cannot describe " + resource.String() + ": " + err.Error())}
}
