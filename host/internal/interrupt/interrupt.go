// Package interrupt tells a program that it is asked to end, so that it ends
// cleanly and leaves no file and no process behind.
package interrupt

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Context ends with the first signal that asks for a clean end. After it signals
// work as usual, so that a second one kills. Call it once, in main.
func Context() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), signals()...)
	context.AfterFunc(ctx, stop)
	return ctx
}

// signals are those that ask for a clean end. A terminal that was closed sends
// one of them, unless nohup said that it does not matter.
func signals() []os.Signal {
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ending = append(ending, syscall.SIGHUP)
	}
	return ending
}

// WhenUnread ends as well when nobody reads what the program writes to stdout or
// stderr any more, as behind "| head", which otherwise kills it on the spot. That is
// noticed by what is written through watched: the signal comes for every connection
// that a client has broken off, too. It is for programs that have something to put
// away.
func WhenUnread(ctx context.Context) (ending context.Context, watched func(io.Writer) io.Writer, stop func()) {
	ending, cancel := context.WithCancel(ctx)
	unheard := make(chan os.Signal, 1) // for as long as somebody is told of the signal it does not kill
	signal.Notify(unheard, syscall.SIGPIPE)
	watched = func(w io.Writer) io.Writer { return &watchedWriter{w, cancel} }
	return ending, watched, func() {
		signal.Stop(unheard)
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
