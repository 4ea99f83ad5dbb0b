package socket_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/socket"
)

// readLimit limits the size of messages in the fuzz test.
const readLimit = 1 << 10

// piped is an http.ResponseWriter over one end of a pipe.
type piped struct {
	http.ResponseWriter
	conn net.Conn
}

func (p piped) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return p.conn, bufio.NewReadWriter(bufio.NewReader(p.conn), bufio.NewWriter(p.conn)), nil
}

// upgraded returns the server's side of a WebSocket. After the handshake, the client sends
// the bytes "sent" and discards all data that it receives.
func upgraded(t *testing.T, sent []byte) connector.MessageConn {
	server, client := net.Pipe()
	r := httptest.NewRequest(http.MethodGet, "/watch", nil)
	for key, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
	} {
		r.Header.Set(key, value)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(io.Discard, client) // returns when the server closes the connection
	}()
	conn, err := socket.Accept(piped{httptest.NewRecorder(), server}, r, websocket.AcceptOptions{})
	require.NoError(t, err)
	conn.WebSocket().SetReadLimit(readLimit)
	written := make(chan struct{})
	go func() {
		defer close(written)
		if _, err := client.Write(sent); err == nil { // an error means that the server has closed the connection
			client.Close()
		}
	}()
	t.Cleanup(func() {
		conn.WebSocket().CloseNow()
		client.Close()
		<-read
		<-written
	})
	return conn.Messages()
}

// These constants are from RFC 6455, section 5.2.
const (
	opContinuation, opText, opBinary, opClose = 0, 1, 2, 8
	isControl                                 = 8
)

// binaryMessages is a lenient parser for the bytes that a client sends. It returns the
// complete binary messages and the part of an incomplete last message.
func binaryMessages(sent []byte) (messages [][]byte, part []byte) {
	open := false
	for {
		head, payload, rest, whole := nextFrame(sent)
		sent = rest
		op := head & 0x0f
		switch {
		case len(sent) == 0 && !whole && payload == nil, op == opClose || op == opText:
			return messages, part
		case op&isControl != 0:
			continue
		case op == opBinary:
			part, open = nil, true
		case op != opContinuation || !open:
			return messages, part
		}
		part = append(part, payload...)
		if !whole {
			return messages, part
		}
		if head&0x80 != 0 {
			messages, part, open = append(messages, part), nil, false
		}
	}
}

// nextFrame splits the first frame from b and unmasks its payload. If b ends within the
// frame, whole is false and payload is the available part.
func nextFrame(b []byte) (head byte, payload, rest []byte, whole bool) {
	if len(b) < 2 {
		return 0, nil, nil, false
	}
	head, n := b[0], uint64(b[1]&0x7f)
	masked := b[1]&0x80 != 0
	b = b[2:]
	switch {
	case n == 126 && len(b) >= 2:
		n, b = uint64(binary.BigEndian.Uint16(b)), b[2:]
	case n == 127 && len(b) >= 8:
		n, b = binary.BigEndian.Uint64(b), b[8:]
	case n >= 126:
		return 0, nil, nil, false
	}
	if !masked || len(b) < 4 {
		return 0, nil, nil, false
	}
	key, b := b[:4], b[4:]
	have := min(n, uint64(len(b)))
	payload = []byte{}
	for i, c := range b[:have] {
		payload = append(payload, c^key[i%4])
	}
	return head, payload, b[have:], have == n
}

// frame returns a frame with a masked payload, as RFC 6455 requires of clients.
func frame(head byte, payload string) []byte {
	b := []byte{head}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	key := []byte{0x12, 0x34, 0x56, 0x78}
	b = append(b, key...)
	for i := range len(payload) {
		b = append(b, payload[i]^key[i%4])
	}
	return b
}

// For any bytes that a client sends, Read returns the messages before the first invalid
// frame, and then an error.
func FuzzFraming(f *testing.F) {
	const fin = 0x80
	for _, frames := range [][][]byte{
		{frame(fin|opBinary, "a message"), frame(fin|opBinary, "another"), frame(fin|opClose, "\x03\xe8bye")},
		{frame(opBinary, "in "), frame(fin|9, "ping"), frame(opContinuation, "three "), frame(fin|opContinuation, "parts")},
		{frame(fin|opBinary, string(bytes.Repeat([]byte("x"), readLimit))), frame(fin|opBinary, string(bytes.Repeat([]byte("x"), readLimit+1)))},
		{frame(opBinary, "x"), frame(opContinuation, string(bytes.Repeat([]byte("x"), readLimit)))},
		{frame(fin|opText, "text")}, {frame(fin|opContinuation, "of nothing")}, {frame(opBinary, "a"), frame(fin|opBinary, "b")},
		{frame(fin|0x40|opBinary, "compressed")}, {frame(fin|3, "reserved")}, {frame(fin|10, "pong")}, {frame(9, "part of a ping")},
		{frame(fin|opClose, "\x00")}, {frame(fin|opClose, "\x03\xed")}, {{fin | opBinary, 5, 'n', 'o', 'm', 'a', 's'}},
		{{fin | opBinary, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}}, {{fin | opBinary, 0xfe, 0, 1, 0, 0, 0, 0, 'x'}},
	} {
		f.Add(bytes.Join(frames, nil))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		want, part := binaryMessages(sent)
		conn := upgraded(t, sent)
		for i := 0; ; i++ {
			message, err := conn.Read(t.Context())
			if err != nil {
				var status *api.Status
				require.True(t, !errors.As(err, &status) || status.Reason == api.ReasonProtocol, "%v", err)
				return
			}
			require.LessOrEqual(t, len(message), readLimit)
			if i < len(want) {
				require.Equal(t, string(want[i]), string(message))
				continue
			}
			// The library may mistake the end of the connection for the end of a
			// message. Frames contain their length, so the receiver detects a truncated
			// frame.
			require.True(t, bytes.HasPrefix(part, message), "a message that was not sent: %q", message)
			part = nil
		}
	})
}
