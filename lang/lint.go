package lang

// Rule is one thing that a language's linter looks for. Code is stable: it is
// what a finding has, and what a source names to have it ignored. Text is one
// line on what is found.
type Rule struct {
	Code string `json:"code"`
	Text string `json:"text"`
}
