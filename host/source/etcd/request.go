package etcd

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/connectivity"
)

var errCannotConnect = errors.New("cannot connect: check that etcd listens on this address, and whether it requires TLS")

// request sends a read request to etcd. It fails after RequestTimeout, or after
// ConnectTimeout without a connection. Without ConnectTimeout, etcd's client would wait
// for a connection until RequestTimeout.
func (s *Source) request(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	bounded, cancel := context.WithTimeout(ctx, s.config.RequestTimeout)
	defer cancel()
	connected, giveUp := context.WithCancelCause(bounded)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watchConnection(connected, giveUp)
	}()
	resp, err := s.client.Get(connected, key, opts...)
	if err != nil && connected.Err() != nil && ctx.Err() == nil {
		err = s.unanswered(connected, "within "+s.config.RequestTimeout.String())
	}
	giveUp(nil)
	<-done
	return resp, err
}

// unanswered returns the error for a request without a response: that no connection
// exists, or that no response arrived in time.
func (s *Source) unanswered(ctx context.Context, when string) error {
	if context.Cause(ctx) == errCannotConnect || s.client.ActiveConnection().GetState() != connectivity.Ready {
		return errCannotConnect
	}
	return errors.New("no response " + when)
}

// watchConnection calls giveUp after ConnectTimeout without a connection. It returns when
// ctx is done. Calling giveUp also cancels ctx.
func (s *Source) watchConnection(ctx context.Context, giveUp context.CancelCauseFunc) {
	connection := s.client.ActiveConnection()
	for ctx.Err() == nil {
		if connection.GetState() == connectivity.Ready {
			connection.WaitForStateChange(ctx, connectivity.Ready)
			continue
		}
		if !s.connects(ctx) && ctx.Err() == nil {
			giveUp(errCannotConnect)
		}
	}
}

// connects waits at most ConnectTimeout for a connection, and reports whether there is
// one.
func (s *Source) connects(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.config.ConnectTimeout)
	defer cancel()
	connection := s.client.ActiveConnection()
	state := connection.GetState()
	for state != connectivity.Ready && connection.WaitForStateChange(ctx, state) {
		state = connection.GetState()
	}
	return state == connectivity.Ready
}
