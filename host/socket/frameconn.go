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

// frameConn is the connection below a WebSocket. It encodes and writes the frames of
// messages, pings and pongs. The package documentation explains why the library does not
// write these. The library writes its own frames, such as close frames, with Write.
type frameConn struct {
	mu      sync.Mutex // held during a write, even while the write blocks
	closing bool       // a close frame was written, so no further message may be written
	masks   bool       // mask frames, because this is the client's side
	rest    []byte     // the part of a frame that the socket has not accepted yet
	raw     syscall.RawConn
	// attempt writes the bytes of the field "trying" to the file descriptor and sets
	// "written". It is created once, because creating a closure for each write would
	// allocate memory.
	attempt func(fd uintptr) (done bool)
	trying  []byte
	written int
	reads   atomic.Uint64          // number of Read calls that returned data
	owed    atomic.Pointer[[]byte] // payload of an unanswered ping
	io.ReadWriteCloser
}

// open sets the underlying connection. It must be called before any other method. If the
// connection is TCP and this is the server's side, raw is set, and frames can be written
// without blocking.
func (c *frameConn) open(conn io.ReadWriteCloser, masks bool) {
	c.ReadWriteCloser, c.masks = conn, masks
	tcp, ok := conn.(*net.TCPConn)
	if !ok || !canTry || masks {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return // the connection is closed; the next Read returns the error
	}
	c.raw = raw
	c.attempt = func(fd uintptr) bool {
		c.written = tryWrite(fd, c.trying)
		return true
	}
}

// Read reads from the connection, and counts the calls that return data. Any received data
// shows that the peer is alive.
func (c *frameConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if n > 0 {
		c.reads.Add(1)
	}
	return n, err
}

// Write implements io.Writer for the library, which passes one complete control frame per
// call.
func (c *frameConn) Write(frame []byte) (int, error) {
	c.mu.Lock()
	defer c.unlock()
	if err := c.flush(); err != nil {
		return 0, err
	}
	c.closing = c.closing || frame[0]&opcodeBits == opClose
	return c.ReadWriteCloser.Write(frame)
}

// send writes a frame, and blocks until the connection has accepted it.
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

// tryLock locks the connection if possible and reports whether it did. It returns false
// during a write, while a part of a frame is unsent, and after a close frame.
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

// unlock releases the lock. It also answers a ping that arrived while the lock was held,
// because the method pong does not wait for the lock.
func (c *frameConn) unlock() {
	for {
		c.mu.Unlock()
		if c.owed.Load() == nil || !c.tryLock() {
			return
		}
		if payload := c.owed.Swap(nil); payload != nil {
			_ = c.control(opPong, *payload) // an error is ignored: on a broken connection, Read fails too
		}
	}
}

// ping sends a ping and returns true. If a write is running, it sends no ping and returns
// false: the write has a time limit and detects a dead connection.
func (c *frameConn) ping() (sent bool, err error) {
	if !c.mu.TryLock() {
		return false, nil
	}
	defer c.unlock()
	if len(c.rest) > 0 || c.closing {
		return true, nil // the ping cannot be sent, but the caller counts it as unanswered
	}
	return true, c.control(opPing, nil)
}

// pong is the library's callback for a ping of the peer. It answers the ping immediately
// or, if a write is running, after that write. It returns false so that the library does
// not answer too.
func (c *frameConn) pong(_ context.Context, payload []byte) bool {
	payload = bytes.Clone(payload)
	c.owed.Store(&payload)
	if c.tryLock() {
		c.unlock()
	}
	return false
}

// control writes a control frame. If raw is set, it does not block. The caller holds the
// lock.
func (c *frameConn) control(opcode byte, payload []byte) error {
	if c.raw == nil {
		return c.sendLocked(opcode, payload)
	}
	c.try(opcode, payload)
	return nil
}

// flush writes the unsent part of the last frame, and blocks until the connection has
// accepted it. The caller holds the lock.
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

// buffers is a pool of buffers in which frames are assembled before they are written.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// try writes as much of a frame as possible without blocking, and buffers the rest. It
// reports whether the whole frame was written. If writing fails, the rest stays buffered,
// and the next blocking write returns the error. The caller holds the lock.
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

// RFC 6455, section 5.2 defines these constants.
const (
	maxHeader  = 10 // in bytes, without a mask
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
// The mask bit is not set.
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

// appendFrame appends a complete frame. On the client's side, it masks the payload (RFC
// 6455, section 5.3).
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
