package kubeapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
)

const (
	authorizationGroup  = "authorization.k8s.io"
	authenticationGroup = "authentication.k8s.io"
)

// selfReviews contains the resources that users create to review their own rights or
// identity.
var selfReviews = []Resource{
	{Resource: api.Resource{Group: authenticationGroup, Version: "v1", Name: "selfsubjectreviews"}, Kind: "SelfSubjectReview", Singular: "selfsubjectreview"},
	{Resource: api.Resource{Group: authorizationGroup, Version: "v1", Name: "selfsubjectaccessreviews"}, Kind: "SelfSubjectAccessReview", Singular: "selfsubjectaccessreview"},
	{Resource: api.Resource{Group: authorizationGroup, Version: "v1", Name: "selfsubjectrulesreviews"}, Kind: "SelfSubjectRulesReview", Singular: "selfsubjectrulesreview"},
}

func isSelfReview(r api.Resource) bool { return findSelfReview(r) != nil }

func findSelfReview(r api.Resource) *Resource {
	for i := range selfReviews {
		if selfReviews[i].Resource == r {
			return &selfReviews[i]
		}
	}
	return nil
}

// review is a self review of any kind. Members that its kind does not define are zero.
type review struct {
	Kind       string     `json:"kind"`
	APIVersion string     `json:"apiVersion"`
	Metadata   struct{}   `json:"metadata"`
	Spec       reviewSpec `json:"spec,omitzero"`
	Status     any        `json:"status,omitempty"`
}

type reviewSpec struct {
	Resource    *resourceAttributes    `json:"resourceAttributes,omitempty"`
	NonResource *nonResourceAttributes `json:"nonResourceAttributes,omitempty"`
	Namespace   string                 `json:"namespace,omitempty"` // of a SelfSubjectRulesReview
}

type resourceAttributes struct {
	Namespace   string `json:"namespace,omitempty"`
	Verb        string `json:"verb,omitempty"`
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
}

type nonResourceAttributes struct {
	Path string `json:"path,omitempty"`
	Verb string `json:"verb,omitempty"`
}

// accessStatus is the status of a SelfSubjectAccessReview.
type accessStatus struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
}

// identityStatus is the status of a SelfSubjectReview.
type identityStatus struct {
	UserInfo userInfo `json:"userInfo"`
}

type userInfo struct {
	Username string              `json:"username,omitempty"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

// selfReview responds to a review of the user's own rights or identity. Every
// authenticated user may create one.
func (h *Handler) selfReview(w *output, r *http.Request, req *request) *api.Status {
	req.verb = "review"
	switch r.Method {
	case http.MethodPost:
	case http.MethodOptions:
		w.Header().Set("Allow", allowedForReviews)
		w.WriteHeader(http.StatusNoContent)
		return nil
	default:
		w.Header().Set("Allow", allowedForReviews)
		return &api.Status{Code: http.StatusMethodNotAllowed, Reason: reasonMethodNotAllowed,
			Message: r.Method + " is not allowed: reviews accept only POST and are not stored"}
	}
	if _, status := negotiate(r.Header); status != nil {
		return status
	}
	return h.deciding.within(clientOf(r, req.user), 1, func() *api.Status {
		asked, status := h.readReview(w, r, findSelfReview(req.resource))
		if status != nil {
			return status
		}
		if observer := h.config.Observer; observer != nil {
			observer.Authorized(r.Context(), req.user, access.Request{Resource: req.resource, Verb: "create", Namespace: asked.Spec.Namespace}, nil)
		}
		if asked.Status, status = h.answerReview(r.Context(), req, asked); status != nil {
			return status
		}
		return replyWith(w, http.StatusCreated, contentType, asked)
	})
}

const allowedForReviews = "POST, OPTIONS"

// readReview reads and decodes the body of a review. A body that exceeds the size limit or
// the read deadline is refused with a status.
func (h *Handler) readReview(w http.ResponseWriter, r *http.Request, resource *Resource) (*review, *api.Status) {
	limits := h.config.Limits
	control := http.NewResponseController(w)
	deadline := time.Now().Add(limits.Duration(limit.HeaderTimeout))
	if err := control.SetReadDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, asStatus(err)
	}
	size := limits.Int(limit.MaxReviewBytes)
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(size)+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &api.Status{Code: api.CodeTimeout, Reason: api.ReasonTimeout, Message: "the body of the request did not arrive in time"}
	case err != nil:
		return nil, api.BadRequest("the body of the request cannot be read: " + err.Error())
	case len(body) > size:
		return nil, limits.Refuse(limit.MaxReviewBytes, "the review is too large")
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, asStatus(err)
	}
	return decodeReview(r.Header.Get("Content-Type"), body, resource)
}

// answerReview evaluates a review and returns the status to store in it.
func (h *Handler) answerReview(ctx context.Context, req *request, asked *review) (any, *api.Status) {
	switch {
	case asked.Kind == "SelfSubjectReview":
		u := req.user
		return identityStatus{userInfo{u.Name, u.UID, u.Groups, u.Extra}}, nil
	case asked.Kind == "SelfSubjectRulesReview" && asked.Spec.Namespace == "":
		return nil, api.BadRequest("no namespace on request: spec.namespace of a SelfSubjectRulesReview is required")
	case asked.Kind == "SelfSubjectRulesReview":
		if status := (access.Request{Namespace: asked.Spec.Namespace}).Check(); status != nil {
			return nil, status
		}
		rules, status := access.RulesOf(ctx, h.config.Access, req.token, req.user, asked.Spec.Namespace)
		if status != nil {
			return nil, status
		}
		return served(rules), nil
	case (asked.Spec.Resource == nil) == (asked.Spec.NonResource == nil):
		return nil, &api.Status{Code: api.CodeInvalid, Reason: api.ReasonInvalid, Message: `SelfSubjectAccessReview.authorization.k8s.io "" is invalid: ` +
			`spec: exactly one of nonResourceAttributes or resourceAttributes must be specified`}
	case asked.Spec.Resource != nil:
		return h.mayRead(ctx, req.user, asked.Spec.Resource)
	}
	return mayGetPath(asked.Spec.NonResource), nil
}

// mayRead returns an accessStatus: whether this API would serve a user's request with these
// attributes, and the reason. If the decision fails, it returns an error status.
func (h *Handler) mayRead(ctx context.Context, user *access.User, a *resourceAttributes) (any, *api.Status) {
	resource := api.Resource{Group: a.Group, Version: a.Version, Name: a.Resource}
	request := access.Request{Resource: resource, Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name, Verb: a.Verb}
	if status := request.Check(); status != nil {
		return nil, status
	}
	if a.Verb == "create" && a.Subresource == "" && isSelfReview(withVersion(resource, "v1")) {
		return accessStatus{Allowed: true, Reason: "every authenticated user may review its own rights"}, nil
	}
	switch {
	case !slices.Contains(readVerbs, a.Verb):
		return accessStatus{Reason: "this server is a read-only cache: it serves get, list and watch, and reviews of the user's own rights"}, nil
	case a.Subresource != "":
		return accessStatus{Reason: "this server is a read-only cache: it does not serve subresources"}, nil
	}
	var err error
	if request.Resource, err = h.servedVersion(ctx, resource); err != nil {
		return nil, asStatus(err)
	}
	_, refused := h.config.Access.Authorize(ctx, user, request)
	switch {
	case refused == nil:
		return accessStatus{Allowed: true}, nil
	case !access.Decided(refused):
		return nil, refused
	}
	return accessStatus{Reason: access.Reason(refused, user, request)}, nil
}

// servedVersion returns r with the served version if r names no version. If r is not served, it
// returns r unchanged. Policies other than a kube-apiserver need a version to authorize a read.
func (h *Handler) servedVersion(ctx context.Context, r api.Resource) (api.Resource, error) {
	if r.Version != "" && r.Version != "*" {
		return r, nil
	}
	all, err := h.config.Backend.Resources(ctx)
	if err != nil {
		return r, err
	}
	for i := range all {
		if all[i].Group == r.Group && all[i].Name == r.Name {
			return all[i].Resource, nil
		}
	}
	return r, nil
}

func withVersion(r api.Resource, version string) api.Resource {
	r.Version = version
	return r
}

// mayGetPath decides whether a user may get a non-resource path. Every authenticated user may
// get all served paths.
func mayGetPath(a *nonResourceAttributes) accessStatus {
	switch p := parseRoute(a.Path); {
	case a.Verb != "get" && a.Verb != "head":
		return accessStatus{Reason: "this server is a read-only cache: it serves only get"}
	case p.kind == unknownRoute || p.kind == collection || p.kind == object || p.kind == selfReview:
		return accessStatus{Reason: "this server does not serve the path"}
	}
	return accessStatus{Allowed: true}
}

// served returns the rules that permit reads through this API, and the rules that apply to every
// authenticated user.
func served(rules *access.Rules) *access.Rules {
	s := &access.Rules{Incomplete: rules.Incomplete, EvaluationError: rules.EvaluationError}
	for _, rule := range rules.Resources {
		rule.Verbs = reading(rule.Verbs)
		rule.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(name string) bool { return strings.Contains(name, "/") })
		if len(rule.Verbs) > 0 && len(rule.Resources) > 0 {
			s.Resources = append(s.Resources, rule)
		}
	}
	for i := range selfReviews {
		r := &selfReviews[i]
		s.Resources = append(s.Resources, access.ResourceRule{Verbs: createVerbs, APIGroups: []string{r.Group}, Resources: []string{r.Name}})
	}
	s.NonResources = []access.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: servedPaths}}
	return s
}

var servedPaths = []string{"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/readyz", "/version", "/version/"}

// reading returns the granted verbs that read objects. The verb "*" grants all verbs.
func reading(granted []string) []string {
	if slices.Contains(granted, "*") {
		return readVerbs
	}
	return slices.DeleteFunc(slices.Clone(granted), func(verb string) bool { return !slices.Contains(readVerbs, verb) })
}
