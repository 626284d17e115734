package jsonnet

import "github.com/writ-dev/writ/lang"

func (e *evaluation) explain(v lang.Value) []lang.Explanation {
	var all []lang.Explanation
	for _, p := range e.program.Explain {
		all = append(all, lang.Located(v, p, "of Jsonnet programs only the position is known"))
	}
	return all
}
