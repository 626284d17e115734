package lang

import (
	"context"

	"github.com/writ-dev/writ/lang/diag"
)

// Rule is one thing that a language's linter looks for. Code is stable: it is
// what a finding has, and what a source names to have it ignored. Text is one
// line on what is found.
type Rule struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Linter finds, without evaluating it, what looks like a mistake in a program's
// file Entry. What the file imports is followed, but not judged. An error that is
// a diag.List says why the file cannot be looked at.
type Linter interface {
	Lint(ctx context.Context, p Program) (diag.List, error)
}
