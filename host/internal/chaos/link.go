//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxies contains the proxied links between the processes.
type proxies struct {
	server *toxiproxy.ApiServer // never listens; a proxy requires a server
	links  []*link
}

func newProxies() *proxies {
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics log to the global logger
	return &proxies{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())}
}

// link is a proxy that forwards connections to one address.
type link struct{ proxy *toxiproxy.Proxy }

func (p *proxies) link(name, upstream string) (*link, error) {
	proxy := toxiproxy.NewProxy(p.server, name, "127.0.0.1:0", upstream)
	if err := proxy.Start(); err != nil {
		return nil, err
	}
	l := &link{proxy}
	p.links = append(p.links, l)
	return l, nil
}

func (p *proxies) close() {
	for _, l := range p.links {
		l.proxy.Stop()
	}
}

func (l *link) address() string { return l.proxy.Listen }

// toxic is the JSON form of a fault in one direction of a proxy.
type toxic struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`
	Attributes map[string]int `json:"attributes"`
}

// poison adds a toxic to both directions of the links. The returned function cure removes
// all toxics from the links.
func poison(links []*link, kind string, attributes map[string]int) (cure func() error, err error) {
	for _, l := range links {
		for _, direction := range []string{"upstream", "downstream"} {
			text, err := json.Marshal(toxic{direction, kind, direction, attributes})
			if err != nil {
				return nil, err
			}
			if _, err := l.proxy.Toxics.AddToxicJson(bytes.NewReader(text)); err != nil {
				return nil, fmt.Errorf("add %s to %s: %w", kind, l.proxy.Name, err)
			}
		}
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, l := range links {
			l.proxy.Toxics.ResetToxics(ctx)
		}
		return ctx.Err()
	}, nil
}
