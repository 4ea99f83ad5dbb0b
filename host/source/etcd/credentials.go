package etcd

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"
)

// Credentials returns credentials for clientv3.Config.DialOptions that call current for
// each new connection, so that certificates can be replaced. The CA can be replaced as
// well. The callbacks of a tls.Config do not permit that in a client.
func Credentials(current func() *tls.Config) credentials.TransportCredentials {
	return &renewable{current: current}
}

// renewable implements credentials.TransportCredentials.
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

// OverrideServerName does nothing. It is deprecated in the interface, and the client
// does not call it.
func (r *renewable) OverrideServerName(string) error { return nil }
