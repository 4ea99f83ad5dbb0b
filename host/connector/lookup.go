package connector

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
)

// maxLookups is how many subscriptions one message may open.
const maxLookups = 1024

// lookups are what others had to be asked before a message can be taken in
// under the lock: asking may need the network.
type lookups struct {
	prompts  bool // the message asks for progress
	greeting bool // the message has a Hello
	token    string
	user     *access.User
	refused  *api.Status // of the token

	schemas map[api.Resource]schema
	rights  map[access.Request]right
}

// right is the decision about a request.
type right struct {
	refused  *api.Status // nil if granted
	reviewAt time.Time
}

// schema is what the source says of a resource.
type schema struct {
	schema *api.Schema
	status *api.Status
}

// lookUp asks about everything that a message asks for. What is wrong with the
// message is for the session to say.
func (r *reader) lookUp(ctx context.Context, message []byte) *lookups {
	found := &lookups{schemas: map[api.Resource]schema{}, rights: map[access.Request]right{}}
	user := r.currentUser()
	for len(message) > 0 && len(found.rights) < maxLookups {
		t, payload, rest, err := wire.Next(message)
		if err != nil {
			break
		}
		message = rest
		switch t {
		case wire.TypeHello:
			r.identify(ctx, payload, found)
			user = found.user
		case wire.TypeRequestProgress:
			found.prompts = true
		case wire.TypeSubscribe:
			if user != nil {
				r.inquire(ctx, user, payload, found)
			}
		}
	}
	return found
}

func (r *reader) identify(ctx context.Context, payload []byte, found *lookups) {
	var hello wire.Hello
	if found.greeting || hello.Parse(payload) != nil {
		return
	}
	r.silence.Stop()
	ctx, cancel := context.WithTimeout(ctx, r.connector.config.LookupTimeout)
	defer cancel()
	found.greeting, found.token = true, strings.Clone(hello.Token)
	found.user, found.refused = r.connector.access.Authenticate(ctx, found.token)
}

// inquire asks for the right first: who may not read a resource is not told
// whether it exists.
func (r *reader) inquire(ctx context.Context, user *access.User, payload []byte, found *lookups) {
	var f wire.Subscribe
	if f.Parse(payload) != nil {
		return
	}
	resource, err := api.ParseResource(strings.Clone(f.Resource))
	if err != nil {
		return
	}
	request := access.NewRequest(resource, strings.Clone(f.Namespace), strings.Clone(f.FieldSelector))
	if _, known := found.rights[request]; known {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, r.connector.config.LookupTimeout)
	defer cancel()
	var decided right
	decided.reviewAt, decided.refused = r.connector.access.Authorize(bounded, user, request)
	found.rights[request] = decided
	if _, known := found.schemas[resource]; decided.refused == nil && !known {
		found.schemas[resource] = r.connector.schema(ctx, resource)
	}
}

func (c *Connector) schema(ctx context.Context, resource api.Resource) schema {
	ctx, cancel := context.WithTimeout(ctx, c.config.LookupTimeout)
	defer cancel()
	found, err := c.config.Source.Schema(ctx, resource)
	var status *api.Status
	switch {
	case err == nil:
		return schema{schema: found}
	case errors.As(err, &status):
		return schema{status: status}
	}
	return schema{status: api.Unavailable("the source does not say what " + resource.String() + " is: " + err.Error())}
}
