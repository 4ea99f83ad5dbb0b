package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// frame is one event of a watch, or the error that ended it.
type frame struct {
	Type   string
	Object json.RawMessage
	err    error
}

// maxWaiting limits the frames that were read and not delivered yet. Beyond it, the
// server is blocked (rule E11).
const maxWaiting = 100

// frames reads a watch in a separate goroutine, so that the consumer can use timers
// and can receive all available frames.
type frames struct {
	c    chan frame
	body io.Closer
	done chan struct{}
	quit chan struct{}
	once sync.Once
}

func readFrames(body io.ReadCloser) *frames {
	f := &frames{c: make(chan frame, maxWaiting), body: body, done: make(chan struct{}), quit: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.read(body)
	}()
	return f
}

// stop ends the goroutine and waits for it.
func (f *frames) stop() {
	f.once.Do(func() { close(f.quit); f.body.Close() })
	<-f.done
}

// read splits the stream by JSON value, because lines and chunks have no meaning
// (rule P2).
func (f *frames) read(r io.Reader) {
	limit := &frameLimit{r: r}
	dec := json.NewDecoder(limit)
	for {
		limit.left = maxFrame
		var next frame
		if err := dec.Decode(&next); err != nil {
			next = frame{err: err}
		}
		select {
		case f.c <- next:
		case <-f.quit:
			return
		}
		if next.err != nil {
			return
		}
	}
}

// frameLimit fails if one value exceeds the maximum size.
type frameLimit struct {
	r    io.Reader
	left int
}

func (l *frameLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("one object of more than %d bytes", maxFrame)
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// watchdog ends a request whose next byte is overdue.
type watchdog struct {
	timer    *time.Timer
	patience time.Duration
	cancel   context.CancelCauseFunc
}

// errSilent is the reason of a watchdog for the end of a request.
var errSilent = errors.New("the server has fallen silent")

func newWatchdog(ctx context.Context, patience time.Duration, what string) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{patience: patience, cancel: cancel}
	w.timer = time.AfterFunc(patience, func() {
		cancel(fmt.Errorf("%w: nothing of %s came for %v", errSilent, what, patience))
	})
	return ctx, w
}

func (w *watchdog) expect() { w.timer.Reset(w.patience) }
func (w *watchdog) pause()  { w.timer.Stop() }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// reader returns a reader of r. Every read that returns data resets the watchdog.
func (w *watchdog) reader(r io.Reader) io.Reader { return watchedReader{r, w} }

type watchedReader struct {
	io.Reader
	watchdog *watchdog
}

func (r watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.watchdog.expect()
	}
	return n, err
}
