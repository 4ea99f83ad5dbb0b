package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
)

// Tokens is a Policy that grants full read access to every client that presents one of a
// set of secrets. It compares secrets in constant time.
type Tokens struct {
	mu       sync.Mutex
	accepted map[[sha256.Size]byte]grant
}

// grant is the acceptance of a secret. It is valid until the secret is removed.
type grant struct {
	valid  context.Context
	revoke context.CancelFunc
}

// Token returns a policy with one secret.
func Token(secret string) *Tokens {
	t := &Tokens{}
	t.Set([]string{secret})
	return t
}

// Set replaces the secrets. Grants of removed secrets end. Grants of retained secrets are
// not affected.
func (t *Tokens) Set(secrets []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	accepted := make(map[[sha256.Size]byte]grant, len(secrets))
	for _, secret := range secrets {
		sum := sha256.Sum256([]byte(secret))
		if _, twice := accepted[sum]; twice {
			continue
		}
		g, known := t.accepted[sum]
		if !known {
			g.valid, g.revoke = context.WithCancel(context.Background())
		}
		accepted[sum] = g
	}
	for sum, g := range t.accepted {
		if _, kept := accepted[sum]; !kept {
			g.revoke()
		}
	}
	t.accepted = accepted
}

// Authenticate implements Policy.
func (t *Tokens) Authenticate(_ context.Context, presented string) (*User, *api.Status) {
	if presented == "" {
		return nil, api.Unauthorized("a token is required and none was presented")
	}
	got := sha256.Sum256([]byte(presented))
	t.mu.Lock()
	defer t.mu.Unlock()
	var valid context.Context
	for want, g := range t.accepted {
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
			valid = g.valid
		}
	}
	if valid == nil {
		return nil, api.Unauthorized("this connector does not accept the token")
	}
	return &User{Name: "token", Shared: true, Valid: valid}, nil
}

// Authorize implements Policy.
func (*Tokens) Authorize(context.Context, *User, Request) (time.Time, *api.Status) {
	return time.Time{}, nil
}
