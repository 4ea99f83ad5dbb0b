package audit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/audit"
)

var quiet = slog.New(slog.DiscardHandler)

// lines reads an audit log, which must be JSON lines without unknown members.
func lines(t *testing.T, text string) []audit.Event {
	t.Helper()
	var events []audit.Event
	scanner := bufio.NewScanner(strings.NewReader(text))
	for scanner.Scan() {
		decoder := json.NewDecoder(bytes.NewReader(scanner.Bytes()))
		decoder.DisallowUnknownFields()
		var e audit.Event
		require.NoError(t, decoder.Decode(&e), scanner.Text())
		events = append(events, e)
	}
	require.NoError(t, scanner.Err())
	return events
}

func client(t *testing.T) context.Context {
	t.Helper()
	return access.WithClient(t.Context(), access.Client{Address: netip.MustParseAddr("192.0.2.1"), RequestID: "R7"})
}

var (
	ann     = &access.User{Name: "ann", Groups: []string{"devs"}}
	secrets = access.Request{Resource: api.Resource{Version: "v1", Name: "secrets"}, Namespace: "a", Name: "db", Verb: "get"}
)

func TestAccessesAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		r := audit.New(quiet, audit.To(&out))
		now := time.Now().UTC()
		r.Authenticated(client(t), ann, nil)
		r.Authorized(client(t), ann, secrets, nil)
		r.Authorized(client(t), ann, access.Request{Resource: api.Resource{Group: "apps", Version: "v1", Name: "deployments"}}, api.Forbidden("ann may not"))
		r.Authorized(access.Renewing(client(t)), ann, secrets, nil)
		r.Authorized(access.Renewing(client(t)), ann, secrets, api.Unavailable("the review failed"))
		r.Authorized(access.Renewing(client(t)), ann, secrets, api.Forbidden("not any more"))
		r.Authenticated(client(t), nil, api.Unauthorized("wrong"))
		r.Authenticated(access.Renewing(client(t)), nil, api.Unauthorized("expired"))
		assert.Equal(t, []audit.Event{
			{Time: now, User: "ann", Groups: []string{"devs"}, Address: "192.0.2.1", RequestID: "R7", Verb: "get", Resource: "v1/secrets", Namespace: "a", Name: "db", Decision: "allowed"},
			{Time: now, User: "ann", Groups: []string{"devs"}, Address: "192.0.2.1", RequestID: "R7", Verb: "list,watch", Resource: "apps/v1/deployments", Decision: "denied", Reason: "ann may not"},
			{Time: now, User: "ann", Groups: []string{"devs"}, Address: "192.0.2.1", RequestID: "R7", Verb: "get", Resource: "v1/secrets", Namespace: "a", Name: "db", Decision: "denied", Reason: "not any more", Review: true},
			{Time: now, Address: "192.0.2.1", RequestID: "R7", Verb: "authenticate", Decision: "denied", Reason: "wrong"},
			{Time: now, Address: "192.0.2.1", RequestID: "R7", Verb: "authenticate", Decision: "denied", Reason: "expired", Review: true},
		}, lines(t, out.String()))

		each := map[string]uint64{"accepted": 1, "refused": 1, "limited": 0, "undecided": 0, "withdrawn": 1}
		assert.Equal(t, audit.Stats{Authentications: each, Authorizations: each, Log: true, Events: 5}, r.Stats())
	})
}

// An unauthenticated client cannot flood the log or the audit log. The audit log contains
// the number of omitted lines.
func TestRefusedTokensAreLoggedAtARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, log bytes.Buffer
		r := audit.New(slog.New(slog.NewTextHandler(&log, nil)), audit.To(&out))
		for range 1000 {
			r.Authenticated(client(t), nil, api.Unauthorized("wrong"))
		}
		assert.Equal(t, 20, strings.Count(log.String(), "\n"))
		assert.Contains(t, log.String(), `level=INFO msg="token refused" remote=192.0.2.1 request=R7 result=refused reason=wrong`)
		assert.Len(t, lines(t, out.String()), 20)
		time.Sleep(time.Minute)
		r.Authenticated(client(t), nil, &api.Status{Code: 429, Message: "too many"})
		last := lines(t, out.String())[20]
		assert.EqualValues(t, 980, last.Suppressed)
		assert.Contains(t, log.String(), "suppressed=980")

		assert.EqualValues(t, 1000, r.Stats().Authentications["refused"])
		assert.EqualValues(t, 1, r.Stats().Authentications["limited"])
	})
}

func TestBothUsersOfAnImpersonationAreRecorded(t *testing.T) {
	var out bytes.Buffer
	r := audit.New(quiet, audit.To(&out))
	r.Authorized(client(t), &access.User{Name: "bob", Groups: []string{"devs"}, Impersonator: "backend"}, secrets, nil)
	events := lines(t, out.String())
	require.Len(t, events, 1)
	assert.Equal(t, "bob", events[0].User)
	assert.Equal(t, "backend", events[0].Impersonator)
}

func TestALineIsBounded(t *testing.T) {
	var out bytes.Buffer
	r := audit.New(quiet, audit.To(&out))
	long := strings.Repeat("ü\n", 10_000)
	groups := make([]string, 1000)
	for i := range groups {
		groups[i] = long
	}
	r.Authorized(t.Context(), &access.User{Name: long, Groups: groups},
		access.Request{Resource: api.Resource{Group: long, Version: long, Name: long}, Namespace: long, Name: long}, api.Forbidden(long))
	r.Authenticated(t.Context(), nil, api.Unauthorized(long))
	assert.Less(t, out.Len(), 20<<10)
	events := lines(t, out.String())
	require.Len(t, events, 2)
	assert.Len(t, events[0].Groups, 32)
	assert.True(t, strings.HasSuffix(events[0].User, "…"))
	assert.Equal(t, long, groups[0], "the user is not changed")
}

func TestTheFileIsReopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := audit.Open(path)
	require.NoError(t, err)
	r := audit.New(quiet, log)
	r.Authorized(t.Context(), ann, secrets, nil)
	require.NoError(t, os.Rename(path, path+".1"))
	r.Authorized(t.Context(), ann, secrets, nil)
	require.NoError(t, r.Reopen())
	r.Authorized(t.Context(), ann, secrets, nil)
	for name, want := range map[string]int{path + ".1": 2, path: 1} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Len(t, lines(t, string(text)), want)
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	assert.Error(t, r.Reopen())
	r.Authorized(t.Context(), ann, secrets, nil)
	r.Close()
	_, err = audit.Open(filepath.Join(path, "missing", "audit.log"))
	assert.ErrorContains(t, err, "audit log: open")
}

// failing is a writer that fails as if the disk were full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestALineThatCannotBeWrittenIsCounted(t *testing.T) {
	var log bytes.Buffer
	r := audit.New(slog.New(slog.NewTextHandler(&log, nil)), audit.To(failing{}))
	for range 100 {
		r.Authorized(t.Context(), ann, secrets, nil)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "no space left on device"))
	assert.EqualValues(t, 100, r.Stats().Failures)
}

func TestLinesOfManyClientsDoNotMix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := audit.Open(path)
	require.NoError(t, err)
	r := audit.New(quiet, log)
	defer r.Close()
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for range 100 {
				r.Authorized(t.Context(), &access.User{Name: fmt.Sprint("user-", i)}, secrets, nil)
			}
		})
	}
	for range 10 {
		assert.NoError(t, r.Reopen())
	}
	clients.Wait()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Len(t, lines(t, string(text)), 800)
}
