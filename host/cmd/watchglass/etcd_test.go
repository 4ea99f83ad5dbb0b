package main

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// restartingMember is an etcd member that is initially unreachable. Its connections are
// in-memory pipes.
type restartingMember struct {
	pb.UnimplementedKVServer
	pipes    chan net.Conn // nil while the member is unreachable
	attempts []time.Time
}

func (m *restartingMember) dial(context.Context, string) (net.Conn, error) {
	m.attempts = append(m.attempts, time.Now())
	if m.pipes == nil {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	m.pipes <- theirs
	return ours, nil
}

// Range returns an empty response.
func (m *restartingMember) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 7}}, nil
}

// Accept, Close and Addr implement net.Listener.
func (m *restartingMember) Accept() (net.Conn, error) {
	conn, ok := <-m.pipes
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (m *restartingMember) Close() error { return nil }

func (m *restartingMember) Addr() net.Addr { return &net.UnixAddr{Name: "member"} }

// After an outage of any length, the client reconnects to etcd within 1.2 s: one second
// plus jitter.
func TestClientReconnectsToEtcdWithinASecond(t *testing.T) {
	for _, outage := range []time.Duration{time.Second, 75 * time.Second, time.Hour} {
		t.Run(outage.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				member := &restartingMember{}
				flags := &etcdFlags{endpoints: []string{"member:2379"}, prefix: "/registry/"}
				client, err := flags.client(nil, grpc.WithContextDialer(member.dial))
				require.NoError(t, err)
				client.ActiveConnection().Connect()
				time.Sleep(outage)
				synctest.Wait()
				away := len(member.attempts)

				member.pipes = make(chan net.Conn)
				server := grpc.NewServer()
				pb.RegisterKVServer(server, member)
				go server.Serve(member)
				defer func() {
					assert.NoError(t, client.Close()) // before the member ends, so that the client does not reconnect
					close(member.pipes)
					server.Stop()
				}()
				returned := time.Now()
				_, err = client.Get(t.Context(), "key") // waits for the connection
				require.NoError(t, err)
				require.Len(t, member.attempts, away+1, "the first attempt succeeds")
				assert.LessOrEqual(t, member.attempts[away].Sub(returned), 1200*time.Millisecond, "of virtual time")
			})
		})
	}
}
