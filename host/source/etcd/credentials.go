package etcd

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"
)

// Credentials returns credentials for clientv3.Config.DialOptions that call current for
// each new connection. The client certificate and the CA can therefore be replaced at any
// time. The callbacks of a tls.Config cannot replace the CA of a client.
func Credentials(current func() *tls.Config) credentials.TransportCredentials {
	return &renewable{current: current}
}

// renewable implements the credentials that Credentials returns.
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
