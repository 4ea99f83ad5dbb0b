package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/watchglass/watchglass/core/api"
)

// explain converts an error of etcd's client to one that source.Source specifies, with
// advice for the operator. If ctx is done, it returns ctx.Err().
func (st *stream) explain(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = rpctypes.Error(err)
	switch {
	case is(err, rpctypes.ErrCompacted):
		return st.expired(0)
	case is(err, rpctypes.ErrPermissionDenied):
		return api.Forbidden(st.about(doing) + ": etcd denies it; grant the connector's user read access to this prefix")
	case is(err, rpctypes.ErrUserEmpty), is(err, rpctypes.ErrAuthFailed), is(err, rpctypes.ErrInvalidAuthToken):
		return api.Unauthorized(st.about(doing) + ": etcd does not accept the credentials (" + err.Error() + ")")
	case is(err, rpctypes.ErrNoLeader):
		return fmt.Errorf("%s: the member has no leader; retry, or check the cluster's health: %w", st.about(doing), err)
	}
	return fmt.Errorf("%s: %w", st.about(doing), err)
}

// is reports whether err is target or contains the message of target. etcd sends the
// reason why it canceled a watch only as text.
func is(err, target error) bool {
	return errors.Is(err, target) || strings.Contains(err.Error(), target.Error())
}

func (st *stream) about(doing string) string {
	return fmt.Sprintf("%s: %s of %q", st.name(), doing, st.keyspace.prefix)
}

// expired returns a 410 that asks the caller to list again. compacted is the compacted
// revision, or zero if etcd does not report it.
func (st *stream) expired(compacted int64) error {
	what := "the state being listed is gone"
	if st.at > 0 {
		what = "changes after resource version " + st.at.String() + " are gone"
	}
	if compacted > 0 {
		what += fmt.Sprintf(", compacted at %d", compacted)
	}
	return api.Expired(fmt.Sprintf("%s in etcd under %q: list again", what, st.keyspace.prefix))
}
