package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
)

func (s *Source) reviewToken(ctx context.Context, token string) (*access.User, *api.Status) {
	type spec struct {
		Token string `json:"token"`
	}
	var answer struct {
		Status struct {
			Authenticated bool
			User          struct {
				Username, UID string
				Groups        []string
				Extra         map[string][]string
			}
			Error string
		}
	}
	err := s.review(ctx, "authentication.k8s.io/v1", "TokenReview", spec{token}, &answer)
	switch {
	case err != nil:
		return nil, s.undecided(err)
	case !answer.Status.Authenticated:
		return nil, api.Unauthorized("the cluster does not accept the token: it is wrong, or has expired")
	}
	u := answer.Status.User
	return &access.User{Name: u.Username, UID: u.UID, Groups: u.Groups, Extra: u.Extra, Expires: expiry(token)}, nil
}

// expiry returns when a token expires, or the zero time if it is not a JWT or never
// expires. It does not verify the signature, because the cluster has already accepted the
// token.
func expiry(token string) time.Time {
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil || claims.ExpiresAt == nil {
		return time.Time{}
	}
	return claims.ExpiresAt.Time
}

func (s *Source) reviewAccess(ctx context.Context, user *access.User, r access.Request) *api.Status {
	type attributes struct {
		Namespace   string `json:"namespace,omitempty"`
		Verb        string `json:"verb"`
		Group       string `json:"group"`
		Version     string `json:"version"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource,omitempty"`
		Name        string `json:"name,omitempty"`
	}
	type path struct {
		Path string `json:"path"`
		Verb string `json:"verb"`
	}
	type spec struct {
		ResourceAttributes    *attributes         `json:"resourceAttributes,omitempty"`
		NonResourceAttributes *path               `json:"nonResourceAttributes,omitempty"`
		User                  string              `json:"user"`
		Groups                []string            `json:"groups,omitempty"`
		UID                   string              `json:"uid,omitempty"`
		Extra                 map[string][]string `json:"extra,omitempty"`
	}
	var answer struct {
		Status struct {
			Allowed bool
			Reason  string
		}
	}
	question := spec{User: user.Name, Groups: user.Groups, UID: user.UID, Extra: user.Extra}
	if r.Path != "" {
		question.NonResourceAttributes = &path{r.Path, r.Verb}
	} else {
		question.ResourceAttributes = &attributes{
			r.Namespace, r.Verb, r.Resource.Group, r.Resource.Version, r.Resource.Name, r.Subresource, r.Name,
		}
	}
	err := s.review(ctx, "authorization.k8s.io/v1", "SubjectAccessReview", question, &answer)
	switch {
	case err != nil:
		return s.undecided(err)
	case !answer.Status.Allowed:
		return access.Forbidden(user, r, answer.Status.Reason)
	}
	return nil
}

// undecided returns the status of a review that failed. A failure is not a refusal,
// regardless of its code. Only the log contains the error: the error names the server and
// the account of the connector, and the client may be unauthenticated.
func (s *Source) undecided(err error) *api.Status {
	if s.failures.Allow() {
		s.config.Logger.Warn("the cluster cannot check tokens or rights", "error", err)
	}
	return api.Unavailable("the cluster cannot check the access now; the log of the server has the reason")
}

// reviewRules requests the rules of a user from the cluster with the user's token. It
// does not send the credentials of the Source, because a client certificate would take
// precedence over the token.
func (s *Source) reviewRules(ctx context.Context, token, namespace string) (*access.Rules, *api.Status) {
	type spec struct {
		Namespace string `json:"namespace"`
	}
	var answer struct {
		Status access.Rules `json:"status"`
	}
	err := s.reviewAs(ctx, token, "authorization.k8s.io/v1", "SelfSubjectRulesReview", spec{namespace}, &answer)
	var status *api.Status
	switch {
	case errors.As(err, &status) && access.Decided(status):
		return nil, status
	case err != nil:
		return nil, s.undecided(err)
	}
	return &answer.Status, nil
}

// maxReviewBytes is the maximum size of a response to a review. The largest responses
// contain rules.
const maxReviewBytes = 1 << 20

// review creates a review with the credentials of the Source. The server evaluates the
// review without storing it.
func (s *Source) review(ctx context.Context, apiVersion, kind string, spec, answer any) error {
	err := s.reviewAs(ctx, "", apiVersion, kind, spec, answer)
	var status *api.Status
	if errors.As(err, &status) && status.Code == http.StatusForbidden {
		return errors.New(status.Message + ": bind the connector's user to the ClusterRole system:auth-delegator")
	}
	return err
}

// reviewAs creates a review with a token, or with the credentials of the Source if
// the token is empty.
func (s *Source) reviewAs(ctx context.Context, token, apiVersion, kind string, spec, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.RequestTimeout,
		fmt.Errorf("no response within %v", s.config.RequestTimeout))
	defer cancel()
	body, err := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec})
	if err != nil {
		return err
	}
	about := "kube-apiserver " + s.base.Host + ": " + kind
	target := *s.base
	target.Path = strings.TrimSuffix(target.Path, "/") + "/apis/" + apiVersion + "/" + strings.ToLower(kind) + "s"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", about, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	client := s.client.Load()
	if token != "" {
		client = s.anonymous.Load()
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", about, transportError(ctx, err))
	}
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		return refusal(about, resp)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxReviewBytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", about, transportError(ctx, err))
	case len(text) > maxReviewBytes:
		return fmt.Errorf("%s: the response is larger than %d bytes", about, maxReviewBytes)
	}
	return json.Unmarshal(text, answer)
}
