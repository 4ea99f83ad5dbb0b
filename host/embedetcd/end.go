package embedetcd

import (
	"fmt"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// end ends the program when etcd cannot go on, as on a disk that is full. It logs why,
// and would then panic, often in a goroutine of its own, or end the program itself:
// without a log nobody would be told, and its directory would stay.
type end struct {
	temp *tempDir // to remove, or nil
}

// silentUntilTheEnd logs nothing else.
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
	fmt.Fprintln(os.Stderr, "Error: the embedded etcd cannot go on:", why)
	os.Exit(1)
}
