package admission

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/host/access"
)

type connKey struct{}

// Attach makes the Control count the connections of an HTTP server from the time the server
// accepts them. A handler that hijacks a connection must close its [Conn]. Otherwise the
// connection stays counted.
func (c *Control) Attach(server *http.Server) {
	server.ConnContext = func(ctx context.Context, nc net.Conn) context.Context {
		conn := c.Open(c.untrusted(addressOf(nc.RemoteAddr().String())), func() { cut(nc) })
		c.conns.Store(nc, conn)
		return context.WithValue(ctx, connKey{}, conn)
	}
	server.ConnState = func(nc net.Conn, state http.ConnState) {
		if state != http.StateClosed && state != http.StateHijacked {
			return
		}
		if conn, ok := c.conns.LoadAndDelete(nc); ok && state == http.StateClosed {
			conn.(*Conn).Close()
		}
	}
}

// cut closes the socket. For TLS it closes the underlying connection directly, because
// closing a TLS connection may block.
func cut(nc net.Conn) {
	if secure, ok := nc.(*tls.Conn); ok {
		nc = secure.NetConn()
	}
	nc.Close() // fails if the connection has already ended
}

// ConnOf returns the connection of the request with this context, or nil if the HTTP server
// is not attached.
func ConnOf(ctx context.Context) *Conn {
	conn, _ := ctx.Value(connKey{}).(*Conn)
	return conn
}

// Identify returns the request with an access.Client in its context. The caller must call
// the function done after the response.
func (c *Control) Identify(r *http.Request) (identified *http.Request, done func()) {
	client := access.Client{Address: c.clientAddress(r), RequestID: c.requestID(r), Header: r.Header, TLS: r.TLS}
	conn := ConnOf(r.Context())
	done = func() {}
	if conn != nil {
		conn.move(client.Block())
		client.Connection, done = conn, conn.Release
	}
	return r.WithContext(access.WithClient(r.Context(), client)), done
}

// RequestIDHeader is the header that contains the request ID, in requests and responses.
const RequestIDHeader = "X-Request-Id"

// requestIDs matches the request IDs that are accepted from a trusted proxy.
var requestIDs = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,64}$`)

// requestID returns the ID that a trusted proxy has assigned to a request, or a new ID. IDs
// from untrusted clients are ignored, because a malicious client could send the ID of another
// request.
func (c *Control) requestID(r *http.Request) string {
	if id := r.Header.Get(RequestIDHeader); c.trusts(addressOf(r.RemoteAddr)) && requestIDs.MatchString(id) {
		return id
	}
	return rand.Text()
}

// clientAddress returns the peer's address or, if the peer is a trusted proxy, the last
// address in X-Forwarded-For that is not a trusted proxy.
func (c *Control) clientAddress(r *http.Request) netip.Addr {
	address := addressOf(r.RemoteAddr)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !c.trusts(address) {
			break
		}
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		address = before.Unmap()
	}
	return address
}

// untrusted returns the address, or the zero Addr if it belongs to a trusted proxy. The
// limits per address then apply to the clients of the proxy.
func (c *Control) untrusted(address netip.Addr) netip.Addr {
	if c.trusts(address) {
		return netip.Addr{}
	}
	return address
}

func (c *Control) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(c.proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// addressOf returns the IP address in a text of the form "address:port". For any other text, it
// returns the zero Addr.
func addressOf(hostport string) netip.Addr {
	address, err := netip.ParseAddrPort(hostport)
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr().Unmap().WithZone("")
}
