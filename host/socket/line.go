package socket

import (
	"encoding/binary"
	"net"
	"sync"
	"syscall"
)

// line is the TCP connection below a WebSocket. Messages are written to it past
// the library, which cannot write one on condition that nobody has to wait. What
// the library writes are control frames, each with one Write.
type line struct {
	mu      sync.Mutex // held while something is written, also while that waits
	closing bool       // the library has begun to close: no message may follow
	rest    []byte     // of the frame of a message that there was no room for
	raw     syscall.RawConn
	// What try hands to attempt, which is made once: raw is an interface, and
	// whatever is passed through it is allocated.
	attempt func(fd uintptr) (done bool)
	trying  []byte
	written int
	net.Conn
}

// open reports whether there is a file descriptor that takes the bytes as they are.
func (l *line) open(conn net.Conn) bool {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || !canTry {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false // it is closed, as the next who reads it finds out
	}
	l.Conn, l.raw = conn, raw
	l.attempt = func(fd uintptr) bool {
		l.written = tryWrite(fd, l.trying)
		return true
	}
	return true
}

// Write writes a control frame of the library's.
func (l *line) Write(frame []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.flush(); err != nil {
		return 0, err
	}
	l.closing = l.closing || frame[0]&opcode == opClose
	return l.Conn.Write(frame)
}

// send writes a message, and waits for room.
func (l *line) send(message []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.flush(); err != nil {
		return err
	}
	if l.closing {
		return net.ErrClosed
	}
	var header [maxHeader]byte
	frame := net.Buffers{appendHeader(header[:0], len(message)), message}
	_, err := frame.WriteTo(l.Conn)
	return err
}

// flush writes the rest of a message. It runs under the lock.
func (l *line) flush() error {
	if len(l.rest) == 0 {
		return nil
	}
	n, err := l.Conn.Write(l.rest)
	if l.rest = l.rest[n:]; len(l.rest) == 0 {
		l.rest = nil
	}
	return err
}

// frames are for messages that are tried, each for as long as that takes.
var frames = sync.Pool{New: func() any { return new([]byte) }}

// try writes as much of a message as there is room for, and keeps the rest. What
// fails is kept as well: it fails again for whoever may wait. It runs under the
// lock.
func (l *line) try(message []byte) (sent bool) {
	buffer := frames.Get().(*[]byte)
	defer frames.Put(buffer)
	frame := append(appendHeader((*buffer)[:0], len(message)), message...)
	*buffer = frame
	l.trying, l.written = frame, 0
	l.raw.Write(l.attempt) // its error is that of a closed connection
	l.trying = nil
	if l.written == len(frame) {
		return true
	}
	l.rest = append([]byte(nil), frame[l.written:]...)
	return false
}

// Of RFC 6455, section 5.2.
const (
	maxHeader = 10 // of a frame without a mask
	final     = 0x80
	opcode    = 0x0f
	opBinary  = 0x2
	opClose   = 0x8
)

// appendHeader appends that of a whole message of n bytes, which a server does
// not mask.
func appendHeader(dst []byte, n int) []byte {
	dst = append(dst, final|opBinary)
	switch {
	case n < 126:
		return append(dst, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 127), uint64(n))
}
