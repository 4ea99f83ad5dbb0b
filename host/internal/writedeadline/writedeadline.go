// Package writedeadline disconnects clients that accept no data within a time limit. Unlike a
// limit for the whole response, this limit allows slow clients to receive large responses.
package writedeadline

import (
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/watchglass/watchglass/host/limit"
)

// chunkBytes is the number of bytes that a client must accept within
// limit.WriteTimeout.
const chunkBytes = 64 << 10

// Writer is an http.ResponseWriter that sets a new write deadline for every 64 KiB. These
// deadlines replace the server's write deadline, which covers the whole request.
type Writer struct {
	http.ResponseWriter
	control *http.ResponseController
	limits  *limit.Set
	counted bool // the client was too slow, and the limit has counted it
}

// New returns a Writer. It removes the server's write deadline. The first write sets the
// next deadline. If w, such as a recorder in a test, does not support deadlines, the Writer
// sets none.
func New(w http.ResponseWriter, limits *limit.Set) *Writer {
	writer := &Writer{ResponseWriter: w, control: http.NewResponseController(w), limits: limits}
	writer.clear()
	return writer
}

// Handler returns a handler that calls h with a Writer.
func Handler(h http.Handler, limits *limit.Set) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writer := New(w, limits)
		defer writer.Finish()
		h.ServeHTTP(writer, r)
	})
}

// Finish sets the deadline for the buffered bytes that the server sends after the handler
// has returned.
func (w *Writer) Finish() { w.extend() }

// Write implements http.ResponseWriter.
func (w *Writer) Write(data []byte) (written int, err error) {
	for {
		chunk := data[:min(len(data), chunkBytes)]
		err := w.timed(func() error {
			n, err := w.ResponseWriter.Write(chunk)
			written += n
			return err
		})
		if data = data[len(chunk):]; err != nil || len(data) == 0 {
			return written, err
		}
	}
}

// Flush sends buffered data, with a new deadline.
func (w *Writer) Flush() error { return w.timed(w.control.Flush) }

// SetReadDeadline sets the deadline for reading the request. http.ResponseController
// calls it.
func (w *Writer) SetReadDeadline(deadline time.Time) error {
	return w.control.SetReadDeadline(deadline)
}

func (w *Writer) timed(f func() error) error {
	w.extend()
	defer w.clear()
	err := f()
	if errors.Is(err, os.ErrDeadlineExceeded) && !w.counted {
		w.counted = true
		w.limits.Count(limit.WriteTimeout)
	}
	return err
}

func (w *Writer) extend() { w.setDeadline(time.Now().Add(w.limits.Duration(limit.WriteTimeout))) }

func (w *Writer) clear() { w.setDeadline(time.Time{}) }

// setDeadline sets the write deadline. It ignores the error of servers that do not
// support deadlines.
func (w *Writer) setDeadline(t time.Time) { _ = w.control.SetWriteDeadline(t) }
