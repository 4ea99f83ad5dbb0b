package access

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

// User identifies the user of a token, with the attributes of a Kubernetes user.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
	// Impersonator is the name of the user who acts as this one. It may be empty.
	Impersonator string
	// Shared marks a user that represents many clients, because the policy cannot
	// distinguish them.
	Shared bool
	// Expires is the time at which the token expires. All grants that are based on the
	// token end at that time. Zero means unknown.
	Expires time.Time
	// ReviewAt is the time at which to authenticate the token again. If zero, the caller
	// chooses the time, within [ReviewInterval].
	ReviewAt time.Time
	// Valid is canceled when the policy no longer accepts the token. All grants that are
	// based on the token are then reviewed immediately. If Valid is nil, only the regular
	// reviews detect a withdrawn token.
	Valid context.Context
}

const (
	// ReviewInterval is the maximum time between two reviews of a grant. Together with
	// ReviewTimeout, it ensures that a grant ends within a minute of its revocation.
	ReviewInterval = 50 * time.Second
	// ReviewTimeout limits one review.
	ReviewTimeout = 5 * time.Second
	// ReviewRetry is the delay before a review without a decision is repeated.
	ReviewRetry = 5 * time.Second
)

// ReviewStats contains the counters of a policy that uses reviews.
type ReviewStats struct {
	TokenReviews  uint64 // number since the policy was created
	AccessReviews uint64
	Grants        int // number of cached decisions that accept a token or grant a right
	Refusals      int
}

// Request is a request to read objects, or to read a path that is not a resource. An empty
// namespace means all namespaces. An empty name means all objects.
type Request struct {
	Resource    api.Resource
	Subresource string
	Namespace   string
	Name        string
	Verb        string // get, list or watch; empty for list and watch
	// Path is the path of a request without a resource, such as "/metrics". The verb
	// is then get, and the other fields are empty.
	Path string
}

// String returns a description of the request for logs and error messages.
func (r Request) String() string {
	var b strings.Builder
	if r.Verb != "" {
		b.WriteString(r.Verb + " ")
	}
	if r.Path != "" {
		return b.String() + r.Path
	}
	b.WriteString(r.Resource.String())
	if r.Subresource != "" {
		b.WriteString("/" + r.Subresource)
	}
	if r.Name != "" {
		b.WriteString(" " + r.Name)
	}
	if r.Namespace != "" {
		b.WriteString(" in namespace " + r.Namespace)
	}
	return b.String()
}

// maxRequestBytes is the maximum total length of the names in a request. The names that
// Kubernetes allows are shorter.
const maxRequestBytes = 1 << 10

// Check returns a 400 if the names of the request are longer than Kubernetes allows, and
// nil otherwise.
func (r Request) Check() *api.Status {
	if len(r.Resource.Group)+len(r.Resource.Version)+len(r.Resource.Name)+len(r.Subresource)+
		len(r.Namespace)+len(r.Name)+len(r.Verb)+len(r.Path) > maxRequestBytes {
		return api.BadRequest("the names of the resource, namespace and object are longer than Kubernetes allows")
	}
	return nil
}

// NewRequest returns the request for a list and watch with a field selector. Package
// selector computes the scope of the request, and also filters the responses by that
// scope.
func NewRequest(resource api.Resource, namespace string, fields selector.Fields) Request {
	scope := selector.ScopeOf(namespace, fields)
	return Request{Resource: resource, Namespace: scope.Namespace, Name: scope.Name}
}

// Policy decides which objects a user may read. Its methods may use the network. A status
// of 401 or 403 is a decision against the user. Any other status, such as 503, means that
// the policy cannot decide at present. The context contains the [Client]. A Policy is
// safe for concurrent use.
type Policy interface {
	// Authenticate returns the user who presents the token, which may be empty.
	Authenticate(ctx context.Context, token string) (*User, *api.Status)
	// Authorize returns the reason to refuse the request, or nil if the user may make it.
	// reviewAt is the time at which to authorize the request again. If zero, the caller
	// chooses the time, as for User.ReviewAt.
	Authorize(ctx context.Context, user *User, r Request) (reviewAt time.Time, refused *api.Status)
}

// Unwrap returns the policy that p wraps, or nil.
func Unwrap(p Policy) Policy {
	if wrapper, ok := p.(interface{ Unwrap() Policy }); ok {
		return wrapper.Unwrap()
	}
	return nil
}

// Readier is a Policy that depends on a service, such as an issuer of tokens.
type Readier interface {
	// Ready returns an error while the policy cannot authenticate clients.
	Ready() error
}

// Ready returns the error of the first Readier that p is or wraps. Nil means that the
// policy can authenticate clients.
func Ready(p Policy) error {
	for ; p != nil; p = Unwrap(p) {
		if r, ok := p.(Readier); ok {
			return r.Ready()
		}
	}
	return nil
}

// Decided reports whether a status is a decision against the user.
func Decided(status *api.Status) bool {
	return status != nil && (status.Code == api.CodeUnauthorized || status.Code == api.CodeForbidden)
}

// Everyone returns a policy that lets every client read everything.
func Everyone() Policy { return everyone{} }

type everyone struct{}

func (everyone) Authenticate(context.Context, string) (*User, *api.Status) {
	return &User{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}, Shared: true}, nil
}

func (everyone) Authorize(context.Context, *User, Request) (time.Time, *api.Status) {
	return time.Time{}, nil
}

// Only returns a policy that lets every client read the given resources and no others. It
// is for a connector that itself connects to its clients, as with package push.
func Only(resources ...api.Resource) Policy { return only{resources: resources} }

type only struct {
	everyone
	resources []api.Resource
}

func (o only) Authorize(_ context.Context, _ *User, r Request) (time.Time, *api.Status) {
	if slices.Contains(o.resources, r.Resource) {
		return time.Time{}, nil
	}
	return time.Time{}, api.NotFound("the connector does not send " + r.Resource.String() + " to this reader")
}
