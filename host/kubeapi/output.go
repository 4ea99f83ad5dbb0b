package kubeapi

import (
	"compress/gzip"
	"net/http"
	"sync"

	"github.com/watchglass/watchglass/host/internal/accept"
	"github.com/watchglass/watchglass/host/internal/writedeadline"
	"github.com/watchglass/watchglass/host/limit"
)

// output is the response writer of a request. It records the status code for the metrics.
// It disconnects a client that accepts no data for the write timeout.
type output struct {
	*writedeadline.Writer
	code int
}

func newOutput(w http.ResponseWriter, limits *limit.Set) *output {
	return &output{writedeadline.New(w, limits), http.StatusOK}
}

// WriteHeader implements http.ResponseWriter.
func (o *output) WriteHeader(code int) {
	o.code = code
	o.ResponseWriter.WriteHeader(code)
}

const (
	// gzipFrom is the minimum size, in bytes, of responses that are compressed. Compressing a
	// smaller response takes more time than it saves.
	gzipFrom = 128 << 10
	// chunkBytes is the number of buffered bytes at which lists and watches write to the
	// network.
	chunkBytes = 64 << 10
)

var gzipPool = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // impossible, because BestSpeed is a valid level
	}
	return w
}}

// body writes a response whose length is not known in advance. If the client accepts
// gzip, body buffers the response until it reaches gzipFrom bytes or is complete.
type body struct {
	w      http.ResponseWriter
	gzip   bool // may be compressed
	writer *gzip.Writer
	held   []byte
	begun  bool
	failed bool
}

func newBody(w http.ResponseWriter, r *http.Request) *body {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	h.Add("Vary", "Accept, Accept-Encoding")
	return &body{w: w, gzip: accept.Gzip(r.Header) && r.Method != http.MethodHead}
}

// write writes or buffers data, and reports whether all writes so far have succeeded. It
// does not retain the slice "data".
func (b *body) write(data []byte) bool {
	if !b.begun && b.gzip && len(b.held)+len(data) < gzipFrom {
		b.held = append(b.held, data...)
		return true
	}
	if !b.begun && b.gzip {
		b.w.Header().Set("Content-Encoding", "gzip")
		b.writer = gzipPool.Get().(*gzip.Writer)
		b.writer.Reset(b.w)
	}
	if !b.begun {
		b.begun = true
		b.put(b.held)
		b.held = nil
	}
	b.put(data)
	return !b.failed
}

func (b *body) put(data []byte) {
	if b.failed || len(data) == 0 {
		return
	}
	var err error
	if b.writer != nil {
		_, err = b.writer.Write(data)
	} else {
		_, err = b.w.Write(data)
	}
	b.failed = err != nil
}

// close writes the buffered data and completes the response.
func (b *body) close() {
	if b.writer != nil {
		b.failed = b.writer.Close() != nil || b.failed
		gzipPool.Put(b.writer)
		b.writer = nil
		return
	}
	b.put(b.held)
}

// stream is the response to a watch.
type stream struct {
	out  *output
	gzip bool
}

// begin sends the headers (rule P1).
func (s *stream) begin() {
	h := s.out.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	h.Add("Vary", "Accept, Accept-Encoding")
	if s.gzip {
		h.Set("Content-Encoding", "gzip")
	}
	s.out.WriteHeader(http.StatusOK)
	s.out.Flush() // an error can be ignored, because sending the first event fails too
}

// send writes complete frames and flushes them (rule P11). In a compressed stream,
// each call writes a separate gzip member, so that an idle watch holds no compressor
// (rule P15). The data is flushed before the member is closed. A decompressor returns
// flushed data immediately. After the last block of a member, it may wait for the next
// member before it returns that block.
func (s *stream) send(frames []byte) error {
	if err := s.write(frames); err != nil {
		return err
	}
	return s.out.Flush()
}

func (s *stream) write(frames []byte) error {
	if !s.gzip {
		_, err := s.out.Write(frames)
		return err
	}
	w := gzipPool.Get().(*gzip.Writer)
	defer gzipPool.Put(w)
	w.Reset(s.out)
	if _, err := w.Write(frames); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return w.Close()
}
