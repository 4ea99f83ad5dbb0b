package oidc

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/internal/backoff"
)

const (
	// reviewSpread is the period over which reviews are spread at random. Otherwise, all
	// tokens verified with the same keys would be reviewed at once.
	reviewSpread = access.ReviewInterval / 5
	// keysTTL is the age at which keys are loaded again. A verdict expires at most
	// reviewSpread later, when its keys are at most access.ReviewInterval old. Access that
	// a withdrawn key granted therefore ends within a minute.
	keysTTL = access.ReviewInterval - reviewSpread
	// loadPause is the minimum time between two loads, so that tokens with unknown keys
	// cause few requests to the issuer.
	loadPause = 10 * time.Second
)

// Verifier verifies ID tokens. It is safe for concurrent use.
type Verifier struct {
	config Config
	client atomic.Pointer[http.Client]

	turn    chan struct{} // contains a value while keys are being loaded
	keysURL string        // set by discovery; only the holder of turn uses it

	mu     sync.Mutex
	keys   *keySet   // nil until the first load succeeds
	err    error     // error of the last load; nil if it succeeded
	loaded time.Time // end of the last load, successful or not
}

// keySet contains the keys of one load.
type keySet struct {
	keys   []jose.JSONWebKey
	loaded time.Time
}

// New returns a Verifier, or an error for an invalid config. It sends no requests.
func New(config Config) (*Verifier, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	v := &Verifier{config: config, turn: make(chan struct{}, 1), err: errors.New("the configuration of the issuer has not been loaded yet")}
	v.client.Store(newClient(config.Transport, nil))
	return v, nil
}

// SetAuthorities sets the certificate authorities, in PEM, that verify the issuer's
// certificate. They replace the authorities of the system.
func (v *Verifier) SetAuthorities(pem []byte) error {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return errors.New("the file contains no certificate: expected the certificates of authorities in PEM")
	}
	v.client.Store(newClient(v.config.Transport, pool))
	return nil
}

// Ready returns an error until the keys of the issuer have been loaded.
func (v *Verifier) Ready() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != nil {
		return nil
	}
	return v.err
}

// Run loads the configuration and the keys of the issuer. It retries until a load succeeds
// or ctx is done.
func (v *Verifier) Run(ctx context.Context) {
	var pauses backoff.Pauses
	for ctx.Err() == nil && v.Ready() != nil {
		v.turn <- struct{}{}
		if v.Ready() != nil {
			v.load(ctx)
		}
		<-v.turn
		if v.Ready() != nil {
			backoff.Sleep(ctx, pauses.Next(time.Now()))
		}
	}
}

// current returns the current keys, or a refusal if none have been loaded. It first loads
// the keys again if they are old, or if they are still the key set "failed", which did not
// verify a token.
func (v *Verifier) current(ctx context.Context, failed *keySet) (*keySet, *api.Status) {
	keys, due := v.state(failed)
	if due {
		select {
		case v.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, unavailable("the issuer has not responded in time")
		}
		if _, due = v.state(failed); due {
			v.load(context.WithoutCancel(ctx)) // other callers wait for the load too
		}
		<-v.turn
		keys, _ = v.state(failed)
	}
	if keys == nil {
		return nil, unavailable("the keys of the issuer have not been loaded yet")
	}
	return keys, nil
}

// state returns the current keys, and reports whether they must be loaded again first.
func (v *Verifier) state(failed *keySet) (keys *keySet, due bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	wanted := v.keys == nil || v.keys == failed || time.Since(v.keys.loaded) >= keysTTL
	return v.keys, wanted && (v.loaded.IsZero() || time.Since(v.loaded) >= loadPause)
}

// unreachable reports whether the last load failed.
func (v *Verifier) unreachable() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err != nil
}

// load loads the issuer's keys. After a failure, the previous keys stay in use. The caller
// holds turn.
func (v *Verifier) load(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, issuerTimeout, fmt.Errorf("no response within %v", issuerTimeout))
	defer cancel()
	asked := time.Now()
	keys, err := v.fetch(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = fmt.Errorf("the issuer cannot be read: %w", cause)
	}
	if err != nil {
		v.failed(shorten(err))
		return
	}
	v.succeeded(&keySet{keys, asked})
}

// failed records the error of a load, and logs it unless the previous load failed too.
func (v *Verifier) failed(err error) {
	v.mu.Lock()
	repeated, known := v.err != nil && !v.loaded.IsZero(), v.keys != nil
	v.loaded, v.err = time.Now(), err
	v.mu.Unlock()
	meanwhile := "users cannot sign in until it responds"
	if known {
		meanwhile = "its known keys stay in use"
	}
	if !repeated {
		v.config.Logger.Warn("the issuer of ID tokens cannot be read; "+meanwhile, "issuer", v.config.IssuerURL, "error", err)
	}
}

// succeeded records the keys of a load. It logs the first load and each load after a
// failure.
func (v *Verifier) succeeded(keys *keySet) {
	v.mu.Lock()
	changed := v.err != nil
	v.keys, v.loaded, v.err = keys, time.Now(), nil
	v.mu.Unlock()
	if changed {
		v.config.Logger.Info("the keys of the issuer of ID tokens are loaded", "issuer", v.config.IssuerURL, "keys", len(keys.keys))
	}
}

func (v *Verifier) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	if v.keysURL == "" {
		discovered, err := v.discover(ctx)
		if err != nil {
			return nil, err
		}
		v.keysURL = discovered
	}
	return v.fetchKeys(ctx, v.keysURL)
}

// reviewAt returns the time at which a token must be verified again. If that time has
// passed, which happens while the issuer does not respond, it returns zero.
func (k *keySet) reviewAt(now time.Time) time.Time {
	at := k.loaded.Add(keysTTL + rand.N(reviewSpread))
	if !at.After(now) {
		return time.Time{}
	}
	return at
}

func unavailable(reason string) *api.Status {
	return api.Unavailable("the token cannot be verified: " + reason)
}
