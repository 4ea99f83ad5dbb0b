package etcd

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"
)

// Credentials returns transport credentials for clientv3.Config.DialOptions. For each new
// connection, they call the function current, so the client certificate and the CA can be
// replaced at any time. The callbacks of a tls.Config would not suffice: they cannot
// replace the CA of a client.
func Credentials(current func() *tls.Config) credentials.TransportCredentials {
	return &renewable{current: current}
}

// renewable is the type of the credentials that Credentials returns.
type renewable struct {
	current func() *tls.Config
}

func (r *renewable) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(r.current()).ClientHandshake(ctx, authority, conn)
}

func (r *renewable) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(r.current()).ServerHandshake(conn)
}

func (r *renewable) Info() credentials.ProtocolInfo { return credentials.NewTLS(r.current()).Info() }

func (r *renewable) Clone() credentials.TransportCredentials { return &renewable{r.current} }

// OverrideServerName does nothing. The interface deprecates the method, and etcd's client
// does not call it.
func (r *renewable) OverrideServerName(string) error { return nil }
