// Package interrupt tells a program that it is asked to end, so that it ends
// cleanly and leaves no file and no process behind.
package interrupt

import (
	"context"
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
// stderr any more, as behind "| head", which otherwise kills it on the spot. It is
// for programs that have something to put away.
func WhenUnread(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGPIPE)
}
