package cue

import "github.com/writ-dev/writ/lang"

func (l *loader) explain(value lang.Value) []lang.Explanation {
	var all []lang.Explanation
	for _, p := range l.program.Explain {
		all = append(all, lang.Located(value, p, "not yet followed"))
	}
	return all
}
