package consensus

import (
	"context"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLogger passes the libraries' messages on to l, one level lower: what
// Raft calls a warning is the daily life of a cluster of one.
func raftLogger(l *slog.Logger) hclog.Logger {
	i := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Level: hclog.Info, Output: io.Discard})
	i.RegisterSink(sink{l})
	return i
}

type sink struct{ logger *slog.Logger }

var levels = map[hclog.Level]slog.Level{
	hclog.Info:  slog.LevelDebug,
	hclog.Warn:  slog.LevelInfo,
	hclog.Error: slog.LevelError,
}

// Accept implements hclog.SinkAdapter.
func (s sink) Accept(name string, level hclog.Level, msg string, args ...any) {
	if to, ok := levels[level]; ok {
		s.logger.Log(context.Background(), to, msg, append([]any{"part", name}, args...)...)
	}
}
