package logs

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"time"
)

// source is a file that is read line by line while it grows. A nil source is
// empty.
type source struct {
	file  *os.File
	lines *bufio.Reader
	// rest is a line whose end was not there yet: a read may see half a write.
	rest []byte
}

func openSource(path string) (*source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &source{file: f, lines: bufio.NewReaderSize(f, 2*maxLine)}, nil
}

func (s *source) close() {
	if s != nil {
		s.file.Close()
	}
}

func (s *source) rewind() error {
	if s == nil {
		return nil
	}
	s.rest = nil
	_, err := s.file.Seek(0, io.SeekStart)
	s.lines.Reset(s.file)
	return err
}

// next returns the next whole line, whose text is good until the next call,
// or false at the end of what is there.
func (s *source) next() (logLine, bool) {
	if s == nil {
		return logLine{}, false
	}
	for {
		raw, err := s.lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			// Not a line of ours, which is shorter: pass over it.
			s.rest = nil
			continue
		}
		if err != nil {
			s.rest = append(s.rest, raw...)
			return logLine{}, false
		}
		if len(s.rest) > 0 {
			raw = append(s.rest, raw...)
			s.rest = nil
		}
		if l, ok := parseLine(raw); ok {
			return l, true
		}
	}
}

// logLine is one line of a file.
type logLine struct {
	at      time.Time
	stamp   []byte
	partial bool
	text    []byte
}

// parseLine reads "time stream mark text\n". The text is part of raw.
func parseLine(raw []byte) (logLine, bool) {
	raw = bytes.TrimSuffix(raw, []byte{'\n'})
	stamp, rest, ok := bytes.Cut(raw, []byte{' '})
	if !ok {
		return logLine{}, false
	}
	at, err := time.Parse(timeFormat, string(stamp))
	if err != nil {
		return logLine{}, false
	}
	_, rest, ok = bytes.Cut(rest, []byte{' '})
	if !ok || len(rest) < 2 || rest[1] != ' ' || (rest[0] != 'F' && rest[0] != 'P') {
		return logLine{}, false
	}
	return logLine{at: at, stamp: stamp, partial: rest[0] == 'P', text: rest[2:]}, true
}
