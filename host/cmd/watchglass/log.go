package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// logFlags contains the values of --log-level and --log-format.
type logFlags struct{ level, format string }

func (f *logFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.level, "log-level", "info", "minimum level to log: debug, info, warn or error")
	flags.StringVar(&f.format, "log-format", "text", "format of the log: text or json")
}

// warnings returns a logger for commands that print to a terminal. The logger prints only
// problems, such as an unreadable object, without the time.
func warnings(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

func (f *logFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, fmt.Errorf("--log-level %q: expected debug, info, warn or error", f.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("--log-format %q: expected text or json", f.format)
}
