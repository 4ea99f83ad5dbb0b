package interrupt

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// send sends a signal to this process.
func send(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, syscall.Kill(os.Getpid(), s))
}

func TestIgnoredHangupDoesNotEndTheProcess(t *testing.T) {
	signal.Ignore(syscall.SIGHUP) // as nohup does
	defer signal.Reset(syscall.SIGHUP)
	ctx := Context()
	assert.True(t, signal.Ignored(syscall.SIGHUP))
	Hangups(ctx)
	assert.False(t, signal.Ignored(syscall.SIGHUP), "a server still reloads")
}

func TestAHangupMeansReloadOnceClaimed(t *testing.T) {
	ctx := Context()
	hangups := Hangups(ctx)
	for range 3 {
		send(t, syscall.SIGHUP)
		<-hangups
	}
	assert.NoError(t, ctx.Err())

	send(t, syscall.SIGTERM)
	<-ctx.Done()
	assert.True(t, Terminated(ctx))
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	assert.True(t, Terminated(child))
	send(t, syscall.SIGHUP)
	<-hangups
}

func TestAHangupThatIsNotClaimedEndsTheContext(t *testing.T) {
	ctx := Context()
	send(t, syscall.SIGHUP)
	<-ctx.Done()
	assert.False(t, Terminated(ctx))
	assert.ErrorContains(t, context.Cause(ctx), "hangup")
}

func TestOtherContextsHaveNoHangups(t *testing.T) {
	assert.Nil(t, Hangups(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.False(t, Terminated(ctx))
}
