package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
)

// Policy asks the cluster: TokenReview says who presents a token, and
// SubjectAccessReview, once for list and once for watch, whether that user may
// have what it asks for. The credentials of the Source need the right to ask,
// which the ClusterRole system:auth-delegator gives.
//
// An answer holds for a little less than a minute, so that many readers with one
// token ask once. Answers are remembered for a bounded number of questions.
type Policy struct {
	source *Source

	mu      sync.Mutex
	answers map[string]*verdict
}

var _ access.Policy = (*Policy)(nil)

const (
	// verdictTTL is below the minute after which connectors ask again.
	verdictTTL  = 50 * time.Second
	maxVerdicts = 10_000
)

// verdict is one answer, being asked for until done is closed.
type verdict struct {
	done   chan struct{}
	until  time.Time
	user   *access.User
	status *api.Status
}

// Policy returns one that asks the source's server.
func (s *Source) Policy() *Policy { return &Policy{source: s, answers: map[string]*verdict{}} }

// Authenticate implements access.Policy.
func (p *Policy) Authenticate(ctx context.Context, token string) (*access.User, *api.Status) {
	if token == "" {
		return nil, api.Unauthorized("a token is required and none was presented: sign in with a bearer token of the cluster")
	}
	v := p.ask(ctx, "token\x00"+token, func(ctx context.Context, v *verdict) {
		v.user, v.status = p.source.reviewToken(ctx, token)
	})
	return v.user, v.status
}

// Authorize implements access.Policy.
func (p *Policy) Authorize(ctx context.Context, user *access.User, r access.Request) *api.Status {
	who, err := json.Marshal(user)
	if err != nil {
		return api.AsStatus(err)
	}
	key := strings.Join([]string{"access", string(who), r.Resource.String(), r.Namespace, r.Name, r.Verb}, "\x00")
	return p.ask(ctx, key, func(ctx context.Context, v *verdict) {
		verbs := []string{r.Verb}
		if r.Verb == "" {
			verbs = []string{"list", "watch"}
		}
		r.Verb = ""
		for _, verb := range verbs {
			if v.status = p.source.reviewAccess(ctx, user, verb, r); v.status != nil {
				return
			}
		}
	}).status
}

// ask answers a question from memory, waits for whoever is asking it already,
// or asks; the asking does not end with ctx, for others may wait for it. What is
// no decision is not remembered.
func (p *Policy) ask(ctx context.Context, key string, question func(context.Context, *verdict)) *verdict {
	p.mu.Lock()
	v := p.answers[key]
	if v == nil || !v.until.IsZero() && time.Now().After(v.until) {
		v = &verdict{done: make(chan struct{})}
		p.makeRoom()
		p.answers[key] = v
		p.mu.Unlock()
		question(context.WithoutCancel(ctx), v)
		p.settle(key, v)
		return v
	}
	p.mu.Unlock()
	select {
	case <-v.done:
		return v
	case <-ctx.Done():
		return &verdict{status: api.Unavailable("the cluster has not answered in time who may read what")}
	}
}

func (p *Policy) settle(key string, v *verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v.until = time.Now().Add(verdictTTL)
	if v.status != nil && !access.Decided(v.status) && p.answers[key] == v {
		delete(p.answers, key)
	}
	close(v.done)
}

// makeRoom forgets what is old, and when that is not enough, anything.
func (p *Policy) makeRoom() {
	if len(p.answers) < maxVerdicts {
		return
	}
	now := time.Now()
	for key, v := range p.answers {
		if !v.until.IsZero() && now.After(v.until) {
			delete(p.answers, key)
		}
	}
	for key := range p.answers {
		if len(p.answers) < maxVerdicts {
			return
		}
		delete(p.answers, key)
	}
}

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
		return nil, cannotTell(err)
	case !answer.Status.Authenticated:
		return nil, api.Unauthorized("the cluster does not accept the token: it is wrong, or has expired")
	}
	u := answer.Status.User
	return &access.User{Name: u.Username, UID: u.UID, Groups: u.Groups, Extra: u.Extra}, nil
}

func (s *Source) reviewAccess(ctx context.Context, user *access.User, verb string, r access.Request) *api.Status {
	type attributes struct {
		Namespace string `json:"namespace,omitempty"`
		Verb      string `json:"verb"`
		Group     string `json:"group"`
		Version   string `json:"version"`
		Resource  string `json:"resource"`
		Name      string `json:"name,omitempty"`
	}
	type spec struct {
		ResourceAttributes attributes          `json:"resourceAttributes"`
		User               string              `json:"user"`
		Groups             []string            `json:"groups,omitempty"`
		UID                string              `json:"uid,omitempty"`
		Extra              map[string][]string `json:"extra,omitempty"`
	}
	var answer struct {
		Status struct {
			Allowed bool
			Reason  string
		}
	}
	err := s.review(ctx, "authorization.k8s.io/v1", "SubjectAccessReview", spec{
		ResourceAttributes: attributes{r.Namespace, verb, r.Resource.Group, r.Resource.Version, r.Resource.Name, r.Name},
		User:               user.Name, Groups: user.Groups, UID: user.UID, Extra: user.Extra,
	}, &answer)
	switch {
	case err != nil:
		return cannotTell(err)
	case !answer.Status.Allowed:
		message := fmt.Sprintf("user %q may not %s %s", user.Name, verb, r)
		if answer.Status.Reason != "" {
			message += ": " + answer.Status.Reason
		}
		return api.Forbidden(message)
	}
	return nil
}

// cannotTell: a failure to ask is no decision, whatever its code.
func cannotTell(err error) *api.Status {
	return api.Unavailable("the cluster does not say who may read what: " + err.Error())
}

// review creates a review, which is answered and not stored.
func (s *Source) review(ctx context.Context, apiVersion, kind string, spec, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.RequestTimeout,
		fmt.Errorf("no answer within %v", s.config.RequestTimeout))
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
	resp, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", about, transportError(ctx, err))
	}
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		status := refusal(about, resp)
		if status.Code == http.StatusForbidden {
			return errors.New(status.Message + ": bind the connector's user to the ClusterRole system:auth-delegator")
		}
		return status
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(answer)
}
