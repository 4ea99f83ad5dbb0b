package slowlink

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Rate is a link as a client sees it.
type Rate struct {
	BitsPerSecond int           // to the client; all connections share it
	RoundTrip     time.Duration // half of it in each direction
}

// Proxy forwards TCP connections to a server over a slow link, in real time. Admit can
// delay a connection until a test is ready for it.
type Proxy struct {
	rate   Rate
	target string
	listen net.Listener
	// admit is called with the first bytes of each connection to the server.
	admit func(first []byte)

	mu      sync.Mutex
	free    time.Time // when the downlink can carry further bytes
	conns   []net.Conn
	closed  bool
	running sync.WaitGroup
}

const (
	segmentBytes = 8 << 10
	// queueSegments is the buffer of the link in each direction.
	queueSegments = 32
)

// Forward starts a Proxy to a TCP address. Close ends it. admit may be nil.
func Forward(target string, rate Rate, admit func(first []byte)) (*Proxy, error) {
	if rate.BitsPerSecond < 1000 {
		return nil, errors.New("slowlink: the rate must be at least 1000 bits per second")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{rate: rate, target: target, listen: l, admit: admit}
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the address for clients.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// Close closes all connections and waits for their goroutines. A call of admit must
// return first.
func (p *Proxy) Close() error {
	err := p.listen.Close()
	p.mu.Lock()
	p.closed = true
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		// Large socket buffers would hold data that the link has not carried.
		server.(*net.TCPConn).SetReadBuffer(64 << 10)
		client.(*net.TCPConn).SetWriteBuffer(64 << 10)
		if !p.add(client, server) {
			return
		}
		p.running.Go(func() { p.carry(client, server, p.arrival, nil) })
		p.running.Go(func() {
			p.carry(server, client, func(int) time.Time { return time.Now().Add(p.rate.RoundTrip / 2) }, p.admit)
		})
	}
}

// add returns false if the proxy is closed.
func (p *Proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, conns...)
	if p.closed {
		for _, c := range conns {
			c.Close()
		}
	}
	return !p.closed
}

// arrival returns when n more bytes reach the client.
func (p *Proxy) arrival(n int) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Second * time.Duration(8*n) / time.Duration(p.rate.BitsPerSecond))
	return p.free.Add(p.rate.RoundTrip / 2)
}

type segment struct {
	data []byte
	at   time.Time
}

// carry moves bytes until either side closes.
func (p *Proxy) carry(to, from net.Conn, arrival func(n int) time.Time, admit func([]byte)) {
	queue := make(chan segment, queueSegments)
	p.running.Go(func() {
		defer to.Close()
		defer from.Close()
		for s := range queue {
			time.Sleep(time.Until(s.at))
			if _, err := to.Write(s.data); err != nil {
				break
			}
		}
		for range queue {
		}
	})
	defer close(queue)
	for {
		data := make([]byte, segmentBytes)
		n, err := io.ReadAtLeast(from, data, 1)
		if err != nil {
			return
		}
		if admit != nil {
			admit(data[:n])
			admit = nil
		}
		queue <- segment{data[:n], arrival(n)}
	}
}
