package embedetcd

import (
	"fmt"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// end is a log hook that terminates the program when etcd cannot continue, for example
// because the disk is full. It prints the reason and removes the temporary directory. Etcd
// itself would panic, often in a separate goroutine, or exit without a reason, because its
// log is disabled.
type end struct {
	temp *tempDir // removed at the end; nil for a permanent directory
}

// silentUntilTheEnd returns a logger that drops all entries. A panic or fatal entry calls
// the hook end.
func silentUntilTheEnd(temp *tempDir) *zap.Logger {
	return zap.NewNop().WithOptions(zap.WithPanicHook(end{temp}), zap.WithFatalHook(end{temp}))
}

// OnWrite implements zapcore.CheckWriteHook.
func (e end) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	why := entry.Message
	for _, field := range fields {
		if err, is := field.Interface.(error); is {
			why += ": " + err.Error()
		}
	}
	if e.temp != nil {
		_ = e.temp.remove() // the program ends either way
	}
	fmt.Fprintln(os.Stderr, "Error: the embedded etcd cannot continue:", why)
	os.Exit(1)
}
