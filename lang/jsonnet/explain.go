package jsonnet

import "github.com/writ-dev/writ/lang"

func (e *evaluation) explain(v lang.Value) []lang.Explanation {
	var all []lang.Explanation
	for _, p := range e.program.Explain {
		all = append(all, lang.Located(v, p, "not yet followed"))
	}
	return all
}
