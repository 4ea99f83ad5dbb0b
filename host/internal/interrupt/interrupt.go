package interrupt

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Signal is the [context.Cause] of a context from [Context] that a signal has canceled.
type Signal struct{ os.Signal }

// Error implements error.
func (s Signal) Error() string { return "the process received " + s.String() }

// Context returns a context that the first SIGINT or SIGTERM cancels. SIGHUP also cancels it,
// unless the process ignores SIGHUP, as under nohup, or Hangups was called. A second signal
// kills the process. Call Context once, in main.
func Context() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	h := &hangups{reload: make(chan struct{}, 1), received: make(chan os.Signal, 1)}
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // under nohup, the signal is ignored
		signal.Notify(h.received, syscall.SIGHUP)
	}
	go func() {
		s := <-ending
		signal.Stop(ending)
		h.end()
		cancel(Signal{s})
	}()
	go func() { // runs until the process ends
		for s := range h.received {
			if h.deliver() {
				continue
			}
			signal.Stop(ending)
			h.end()
			cancel(Signal{s})
		}
	}()
	return context.WithValue(ctx, hangupsKey{}, h)
}

type hangupsKey struct{}

// hangups handles SIGHUP. The signal cancels the context or, after a call to Hangups,
// requests a reload.
type hangups struct {
	received chan os.Signal
	reload   chan struct{}

	mu      sync.Mutex
	claimed bool
}

// deliver requests a reload and returns true. It returns false if Hangups was not called;
// SIGHUP must then cancel the context.
func (h *hangups) deliver() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.claimed {
		return false
	}
	select {
	case h.reload <- struct{}{}:
	default: // a reload is pending already
	}
	return true
}

// end restores the default action of SIGHUP, which kills the process. It does nothing if Hangups
// was called, because SIGHUP then requests a reload.
func (h *hangups) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.claimed {
		signal.Stop(h.received)
	}
}

// Hangups makes SIGHUP request a reload: the returned channel receives a value, and the signal
// no longer cancels ctx. The context must be derived from a context that [Context] has
// returned. For any other context, Hangups returns nil. Interactive commands do not call
// Hangups, so they end when their terminal closes.
func Hangups(ctx context.Context) <-chan struct{} {
	h, ok := ctx.Value(hangupsKey{}).(*hangups)
	if !ok {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.claimed = true
	signal.Notify(h.received, syscall.SIGHUP)
	return h.reload
}

// Terminated reports whether ctx is done because of SIGTERM. Orchestrators such as
// Kubernetes send SIGTERM; terminals send other signals.
func Terminated(ctx context.Context) bool {
	var s Signal
	return errors.As(context.Cause(ctx), &s) && s.Signal == syscall.SIGTERM
}

// WhenUnread returns a context that is also canceled when the reader of stdout or stderr has
// closed the pipe, as with "| head". Without WhenUnread, SIGPIPE would kill the program before
// it can clean up. The program must write through the writers that watched returns. These
// writers cancel the context when a write fails with EPIPE. The signal alone is not
// sufficient, because it also arrives for closed network connections.
func WhenUnread(ctx context.Context) (ending context.Context, watched func(io.Writer) io.Writer, stop func()) {
	ending, cancel := context.WithCancel(ctx)
	ignored := make(chan os.Signal, 1) // while a channel receives SIGPIPE, the signal does not kill the program
	signal.Notify(ignored, syscall.SIGPIPE)
	watched = func(w io.Writer) io.Writer { return &watchedWriter{w, cancel} }
	return ending, watched, func() {
		signal.Stop(ignored)
		cancel()
	}
}

type watchedWriter struct {
	io.Writer
	unread func()
}

func (w *watchedWriter) Write(data []byte) (int, error) {
	n, err := w.Writer.Write(data)
	if errors.Is(err, syscall.EPIPE) {
		w.unread()
	}
	return n, err
}
