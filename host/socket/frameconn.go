package socket

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// frameConn is the connection below a WebSocket. All frames except close frames bypass
// the library when they are written. The library has no write that fails instead
// of waiting. It also closes a connection on which a ping or its response waits
// for five seconds, as behind a long message on a slow link.
type frameConn struct {
	mu      sync.Mutex // held during a write, even if that waits
	closing bool       // the library has begun to close: no message may follow
	masks   bool       // this is the client's side
	rest    []byte     // the rest of a frame that did not fit
	raw     syscall.RawConn
	// attempt is created once. trying and written are its argument and its result,
	// because a new closure would be allocated for each call of raw.
	attempt func(fd uintptr) (done bool)
	trying  []byte
	written int
	reads   atomic.Uint64          // number of reads that returned data
	owed    atomic.Pointer[[]byte] // payload of an unanswered ping
	io.ReadWriteCloser
}

// open sets the connection, and is called first. A server's TCP connection has a raw
// connection, whose file descriptor takes the bytes unchanged.
func (c *frameConn) open(conn io.ReadWriteCloser, masks bool) {
	c.ReadWriteCloser, c.masks = conn, masks
	tcp, ok := conn.(*net.TCPConn)
	if !ok || !canTry || masks {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return // the connection is closed, which the next read reports
	}
	c.raw = raw
	c.attempt = func(fd uintptr) bool {
		c.written = tryWrite(fd, c.trying)
		return true
	}
}

// Read counts reads, because any data proves that the other side is alive.
func (c *frameConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if n > 0 {
		c.reads.Add(1)
	}
	return n, err
}

// Write writes a complete control frame of the library.
func (c *frameConn) Write(frame []byte) (int, error) {
	c.mu.Lock()
	defer c.unlock()
	if err := c.flush(); err != nil {
		return 0, err
	}
	c.closing = c.closing || frame[0]&opcodeBits == opClose
	return c.ReadWriteCloser.Write(frame)
}

// send writes a frame, and waits for room.
func (c *frameConn) send(opcode byte, payload []byte) error {
	c.mu.Lock()
	defer c.unlock()
	return c.sendLocked(opcode, payload)
}

func (c *frameConn) sendLocked(opcode byte, payload []byte) error {
	if err := c.flush(); err != nil {
		return err
	}
	if c.closing {
		return net.ErrClosed
	}
	if c.raw != nil { // one system call writes the header and the payload
		var header [maxHeader]byte
		frame := net.Buffers{appendHeader(header[:0], opcode, len(payload)), payload}
		_, err := frame.WriteTo(c.ReadWriteCloser)
		return err
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	frame := c.appendFrame((*buffer)[:0], opcode, payload)
	*buffer = frame
	_, err := c.ReadWriteCloser.Write(frame)
	return err
}

// tryLock locks the connection unless a write is running or unfinished.
func (c *frameConn) tryLock() bool {
	if !c.mu.TryLock() {
		return false
	}
	if len(c.rest) > 0 || c.closing {
		c.mu.Unlock()
		return false
	}
	return true
}

// unlock releases the lock. It answers pings that arrived meanwhile, because their
// handler does not wait for the lock.
func (c *frameConn) unlock() {
	for {
		c.mu.Unlock()
		if c.owed.Load() == nil || !c.tryLock() {
			return
		}
		if payload := c.owed.Swap(nil); payload != nil {
			_ = c.control(opPong, *payload) // fails on a broken connection, as Read does
		}
	}
}

// ping sends a ping, unless a write is running. A write has a time limit and detects
// a dead connection.
func (c *frameConn) ping() (sent bool, err error) {
	if !c.mu.TryLock() {
		return false, nil
	}
	defer c.unlock()
	if len(c.rest) > 0 || c.closing {
		return true, nil // it has no room, and earlier pings count
	}
	return true, c.control(opPing, nil)
}

// pong answers a ping of the other side, without waiting for a running write. It is the
// library's callback, and returns false so that the library does not answer.
func (c *frameConn) pong(_ context.Context, payload []byte) bool {
	payload = bytes.Clone(payload)
	c.owed.Store(&payload)
	if c.tryLock() {
		c.unlock()
	}
	return false
}

// control writes a control frame, over TCP without waiting. The caller holds the lock.
func (c *frameConn) control(opcode byte, payload []byte) error {
	if c.raw == nil {
		return c.sendLocked(opcode, payload)
	}
	c.try(opcode, payload)
	return nil
}

// flush writes the rest of a frame. It runs under the lock.
func (c *frameConn) flush() error {
	if len(c.rest) == 0 {
		return nil
	}
	n, err := c.ReadWriteCloser.Write(c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		c.rest = nil
	}
	return err
}

// buffers pools buffers for frames that are masked or written without blocking.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// try writes as much of a frame as possible without blocking, and buffers the rest. An
// error also leaves the rest buffered, and the next blocking write returns it. The
// caller holds the lock.
func (c *frameConn) try(opcode byte, payload []byte) (sent bool) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	frame := c.appendFrame((*buffer)[:0], opcode, payload)
	*buffer = frame
	c.trying, c.written = frame, 0
	c.raw.Write(c.attempt) // fails only for a closed connection
	c.trying = nil
	if c.written == len(frame) {
		return true
	}
	c.rest = append([]byte(nil), frame[c.written:]...)
	return false
}

// These constants are from RFC 6455, section 5.2.
const (
	maxHeader  = 10 // without a mask
	maskBytes  = 4
	final      = 0x80
	masked     = 0x80
	opcodeBits = 0x0f
	opText     = 0x1
	opBinary   = 0x2
	opClose    = 0x8
	opPing     = 0x9
	opPong     = 0xa
)

// appendHeader appends the header of a complete frame with a payload of n bytes.
// Servers do not mask it.
func appendHeader(dst []byte, opcode byte, n int) []byte {
	dst = append(dst, final|opcode)
	switch {
	case n < 126:
		return append(dst, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 127), uint64(n))
}

// appendFrame appends a complete frame. A client masks it (section 5.3).
func (c *frameConn) appendFrame(dst []byte, opcode byte, payload []byte) []byte {
	start := len(dst)
	dst = appendHeader(dst, opcode, len(payload))
	if !c.masks {
		return append(dst, payload...)
	}
	dst[start+1] |= masked
	var mask [maskBytes]byte
	rand.Read(mask[:])
	dst = append(dst, mask[:]...)
	body := len(dst)
	dst = append(dst, payload...)
	for i := range payload {
		dst[body+i] ^= mask[i%maskBytes]
	}
	return dst
}
