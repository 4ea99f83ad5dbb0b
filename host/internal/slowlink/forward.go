package slowlink

import (
	"fmt"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Proxy forwards TCP connections to a server over a slow link, in real time.
type Proxy struct{ proxy *toxiproxy.Proxy }

// Forward starts a Proxy that forwards to a TCP address. Each connection carries at most
// bytesPerSecond to the client; the value must be at least 1000. The rate to the server
// is unlimited. In each direction, data is delayed by half of roundTrip.
func Forward(target string, bytesPerSecond int, roundTrip time.Duration) (*Proxy, error) {
	if bytesPerSecond < 1000 {
		return nil, fmt.Errorf("slowlink: %d bytes per second, expected at least 1000", bytesPerSecond)
	}
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics log to the global logger
	p := &Proxy{toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "slow", "127.0.0.1:0", target)}
	if err := p.proxy.Start(); err != nil {
		return nil, err
	}
	latency := fmt.Sprintf(`"type":"latency","attributes":{"latency":%d}`, roundTrip.Milliseconds()/2)
	for _, toxic := range []string{
		fmt.Sprintf(`{"name":"rate","stream":"downstream","type":"bandwidth","attributes":{"rate":%d}}`, bytesPerSecond/1000),
		`{"name":"down","stream":"downstream",` + latency + `}`,
		`{"name":"up","stream":"upstream",` + latency + `}`,
	} {
		if _, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
			p.Close()
			return nil, fmt.Errorf("slowlink: add %s: %w", toxic, err)
		}
	}
	return p, nil
}

// Addr returns the address to which clients connect.
func (p *Proxy) Addr() string { return p.proxy.Listen }

// Close stops the Proxy and closes all connections.
func (p *Proxy) Close() { p.proxy.Stop() }
