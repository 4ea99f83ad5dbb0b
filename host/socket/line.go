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

// line is the connection below a WebSocket. All frames except close frames bypass
// the library when they are written. The library has no write that fails instead
// of waiting. It also closes a connection on which a ping or its response waits
// for five seconds, as behind a long message on a slow link.
type line struct {
	mu      sync.Mutex // held during a write, even if that waits
	closing bool       // the library has begun to close: no message may follow
	masks   bool       // this is the client's side
	rest    []byte     // the rest of a frame that did not fit
	raw     syscall.RawConn
	// Arguments from try to attempt, which is created once. raw is an interface, so
	// any value passed through it would be allocated.
	attempt func(fd uintptr) (done bool)
	trying  []byte
	written int
	reads   atomic.Uint64          // number of reads that returned data
	owed    atomic.Pointer[[]byte] // payload of an unanswered ping
	io.ReadWriteCloser
}

// open must be called first. A server's TCP connection has a raw connection, whose
// file descriptor takes the bytes unchanged.
func (l *line) open(conn io.ReadWriteCloser, masks bool) {
	l.ReadWriteCloser, l.masks = conn, masks
	tcp, ok := conn.(*net.TCPConn)
	if !ok || !canTry || masks {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return // the connection is closed, which the next read reports
	}
	l.raw = raw
	l.attempt = func(fd uintptr) bool {
		l.written = tryWrite(fd, l.trying)
		return true
	}
}

// Read counts reads, because any data proves that the other side is alive.
func (l *line) Read(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(p)
	if n > 0 {
		l.reads.Add(1)
	}
	return n, err
}

// Write writes a complete control frame of the library.
func (l *line) Write(frame []byte) (int, error) {
	l.mu.Lock()
	defer l.unlock()
	if err := l.flush(); err != nil {
		return 0, err
	}
	l.closing = l.closing || frame[0]&opcodeBits == opClose
	return l.ReadWriteCloser.Write(frame)
}

// send writes a frame, and waits for room.
func (l *line) send(opcode byte, payload []byte) error {
	l.mu.Lock()
	defer l.unlock()
	return l.sendLocked(opcode, payload)
}

func (l *line) sendLocked(opcode byte, payload []byte) error {
	if err := l.flush(); err != nil {
		return err
	}
	if l.closing {
		return net.ErrClosed
	}
	if l.raw != nil { // one system call writes the header and the payload
		var header [maxHeader]byte
		frame := net.Buffers{appendHeader(header[:0], opcode, len(payload)), payload}
		_, err := frame.WriteTo(l.ReadWriteCloser)
		return err
	}
	buffer := frames.Get().(*[]byte)
	defer frames.Put(buffer)
	frame := l.appendFrame((*buffer)[:0], opcode, payload)
	*buffer = frame
	_, err := l.ReadWriteCloser.Write(frame)
	return err
}

// claim locks the line unless a write is running or unfinished.
func (l *line) claim() bool {
	if !l.mu.TryLock() {
		return false
	}
	if len(l.rest) > 0 || l.closing {
		l.mu.Unlock()
		return false
	}
	return true
}

// unlock ends lock or claim. It answers pings that arrived meanwhile, because their
// handler does not wait for the lock.
func (l *line) unlock() {
	for {
		l.mu.Unlock()
		if l.owed.Load() == nil || !l.claim() {
			return
		}
		if payload := l.owed.Swap(nil); payload != nil {
			_ = l.control(opPong, *payload) // fails on a broken connection, as Read does
		}
	}
}

// ping sends a ping, unless a write is running. A write has a time limit and detects
// a dead connection.
func (l *line) ping() (sent bool, err error) {
	if !l.mu.TryLock() {
		return false, nil
	}
	defer l.unlock()
	if len(l.rest) > 0 || l.closing {
		return true, nil // it has no room, and earlier pings count
	}
	return true, l.control(opPing, nil)
}

// pong answers a ping of the other side, without waiting for a running write. It is
// the library's callback. It reports whether the library must answer.
func (l *line) pong(_ context.Context, payload []byte) bool {
	payload = bytes.Clone(payload)
	l.owed.Store(&payload)
	if l.claim() {
		l.unlock()
	}
	return false
}

// control writes a control frame, over TCP without waiting. It runs under a claim.
func (l *line) control(opcode byte, payload []byte) error {
	if l.raw == nil {
		return l.sendLocked(opcode, payload)
	}
	l.try(opcode, payload)
	return nil
}

// flush writes the rest of a frame. It runs under the lock.
func (l *line) flush() error {
	if len(l.rest) == 0 {
		return nil
	}
	n, err := l.ReadWriteCloser.Write(l.rest)
	if l.rest = l.rest[n:]; len(l.rest) == 0 {
		l.rest = nil
	}
	return err
}

// frames pools buffers for frames that are masked or written without blocking.
var frames = sync.Pool{New: func() any { return new([]byte) }}

// try writes as much of a frame as possible without blocking, and buffers the rest.
// It also keeps an error, which the next blocking write returns. The caller holds
// the lock.
func (l *line) try(opcode byte, payload []byte) (sent bool) {
	buffer := frames.Get().(*[]byte)
	defer frames.Put(buffer)
	frame := l.appendFrame((*buffer)[:0], opcode, payload)
	*buffer = frame
	l.trying, l.written = frame, 0
	l.raw.Write(l.attempt) // fails only for a closed connection
	l.trying = nil
	if l.written == len(frame) {
		return true
	}
	l.rest = append([]byte(nil), frame[l.written:]...)
	return false
}

// Constants of RFC 6455, section 5.2.
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
func (l *line) appendFrame(dst []byte, opcode byte, payload []byte) []byte {
	start := len(dst)
	dst = appendHeader(dst, opcode, len(payload))
	if !l.masks {
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
