package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxHistory bounds how many lines are kept from one session to the next.
const maxHistory = 1000

// history satisfies term.History, and is kept in a file. What could not be kept
// is not worth a word.
type history struct {
	file  string
	lines []string // the oldest first
}

func openHistory() *history {
	h := &history{}
	dir, err := stateHome()
	if err != nil {
		return h
	}
	h.file = filepath.Join(dir, "repl_history")
	b, err := os.ReadFile(h.file)
	if err != nil {
		return h
	}
	h.lines = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if more := len(h.lines) - maxHistory; more > 0 {
		h.lines = slices.Clone(h.lines[more:])
		_ = os.WriteFile(h.file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// Add keeps a line. Inputs may be secret, so they are kept for the session only.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.file == "" || strings.HasPrefix(strings.TrimSpace(line), ":s") {
		return
	}
	f, err := os.OpenFile(h.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteString(line + "\n")
}

// Len is how many lines there are.
func (h *history) Len() int { return len(h.lines) }

// At is a line; 0 is the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
