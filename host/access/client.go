package access

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Client describes the origin of a request. The host adds a Client to the context of
// every call to a [Policy].
type Client struct {
	// Address is the client's address. It is invalid if the transport provides no address.
	Address netip.Addr
	// RequestID identifies the request, or the WebSocket connection, in logs. It is
	// empty if the transport assigns none.
	RequestID string
	// Renewal is true if the call repeats an earlier decision about a client that was
	// admitted.
	Renewal bool
	// Header contains the headers of the client's request, and TLS describes its TLS
	// connection. Policies may find credentials in them. Both may be nil.
	Header http.Header
	TLS    *tls.ConnectionState
	// Connection is the client's connection; nil if connections are not limited.
	Connection Connection
}

// Connection tracks the authentication of a client's connection. The policy that
// [Enforce] returns calls its methods, which are safe for concurrent use.
type Connection interface {
	// Deciding reports that the connection's token is being checked.
	Deciding()
	// Admit assigns the connection to a user. It returns an error if the user would
	// exceed a limit.
	Admit(*User) *api.Status
	// Release removes the assignment of the connection to a user.
	Release()
}

// Block returns the block of addresses that per-address limits treat as one client. The
// block is one IPv4 address, or the /64 of an IPv6 address, because one host can use all
// addresses of a /64. For an invalid address, Block returns the zero Prefix.
func (c Client) Block() netip.Prefix {
	address, bits := c.Address.Unmap().WithZone(""), 32
	if address.Is6() {
		bits = 64
	}
	block, _ := address.Prefix(bits) // the zero Prefix for the zero Addr
	return block
}

type clientKey struct{}

// WithClient returns a context for calls on behalf of a client.
func WithClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf returns the client of a context, or the zero Client.
func ClientOf(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}

// Renewing returns a context for repeating a decision about the client of ctx.
func Renewing(ctx context.Context) context.Context {
	c := ClientOf(ctx)
	c.Renewal = true
	return WithClient(ctx, c)
}

// Impersonator is a Policy that honors impersonation headers if Impersonates returns true.
// With any other policy, requests with such headers are refused.
type Impersonator interface{ Impersonates() bool }

// Impersonates reports whether a policy honors impersonation headers.
func Impersonates(p Policy) bool {
	i, ok := p.(Impersonator)
	return ok && i.Impersonates()
}

// RequestsImpersonation reports whether a request with these headers asks to act as
// another user.
func RequestsImpersonation(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "Impersonate-") {
			return true
		}
	}
	return false
}

// BearerToken returns the token of a request's Authorization header, or "".
func BearerToken(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
