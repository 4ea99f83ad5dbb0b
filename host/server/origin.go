package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// origins decides which pages may connect; see the package documentation.
type origins struct {
	any     bool
	allowed []string // patterns of origins, in lower case
}

// CheckOrigins returns an error for an invalid value of [Config.AllowOrigins].
func CheckOrigins(patterns []string) error {
	_, err := parseOrigins(patterns)
	return err
}

func parseOrigins(patterns []string) (origins, error) {
	var o origins
	for _, p := range patterns {
		if p == "*" {
			o.any = true
			continue
		}
		scheme, host, ok := strings.Cut(p, "://")
		_, err := path.Match(p, "")
		if !ok || scheme == "" || host == "" || strings.Contains(host, "/") || err != nil {
			return o, fmt.Errorf(`allowed origin %q: expected scheme and host such as "https://dashboard.example.com", or "*"`, p)
		}
		o.allowed = append(o.allowed, strings.ToLower(p))
	}
	return o, nil
}

// check returns an error if a request comes from a page that must not connect.
func (o *origins) check(r *http.Request) error {
	origin := strings.ToLower(r.Header.Get("Origin"))
	if origin == "" || o.any {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" {
		if strings.EqualFold(u.Host, r.Host) || isLoopback(u.Hostname()) {
			return nil
		}
	}
	if o.lists(origin) {
		return nil
	}
	return fmt.Errorf("pages from %q may not connect: to allow them, start the server with --allow-origin %s", origin, origin)
}

// checkSession returns an error unless a request comes from a page of this server or
// of an allowed origin. Unlike check, it refuses loopback pages of other servers and
// requests without an Origin, because the browser may have added the credentials. One
// kind of request without an Origin is accepted: a page's GET to this server, for which
// browsers send only Sec-Fetch-Site.
func (o *origins) checkSession(r *http.Request) error {
	origin := strings.ToLower(r.Header.Get("Origin"))
	if origin == "" {
		if r.Header.Get("Sec-Fetch-Site") == "same-origin" && r.Header.Get("Upgrade") == "" {
			return nil
		}
		return errors.New("a request with a session cookie must have an Origin: only pages may use the session, others send a token")
	}
	u, err := url.Parse(origin)
	if err == nil && strings.EqualFold(u.Host, r.Host) && u.Host != "" && (r.TLS == nil || u.Scheme == "https") {
		return nil
	}
	if o.lists(origin) {
		return nil
	}
	return fmt.Errorf("pages from %q may not use the session: to allow them, start the server with --allow-origin %s", origin, origin)
}

// lists reports whether a pattern of Config.AllowOrigins allows the origin.
func (o *origins) lists(origin string) bool {
	return slices.ContainsFunc(o.allowed, func(pattern string) bool {
		ok, _ := path.Match(pattern, origin)
		return ok
	})
}

// checkHost returns an error for a request to a loopback address whose Host is neither a
// loopback name nor the host of an allowed origin. This prevents DNS rebinding.
func (o *origins) checkHost(r *http.Request) error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || o.any {
		return nil
	}
	if address, err := netip.ParseAddrPort(local.String()); err != nil || !address.Addr().Unmap().IsLoopback() {
		return nil
	}
	host := strings.ToLower(r.Host)
	if isLoopback(hostname(host)) {
		return nil
	}
	for _, pattern := range o.allowed {
		_, allowed, _ := strings.Cut(pattern, "://")
		if ok, _ := path.Match(allowed, host); ok {
			return nil
		}
	}
	return fmt.Errorf("the server listens on loopback and does not accept the host %q: use localhost, or start it with --allow-origin https://%s", host, host)
}

func hostname(hostport string) string { return (&url.URL{Host: hostport}).Hostname() }

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
