package render

import (
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/jsonnet"
	"github.com/writ-dev/writ/lang/yaml"
)

// FrontEnds returns the languages' evaluators, which run in this process: what
// Render falls back to.
func FrontEnds() map[Language]lang.Evaluator {
	return map[Language]lang.Evaluator{
		CUE:     cue.Evaluator{},
		Jsonnet: jsonnet.Evaluator{},
		YAML:    yaml.Evaluator{},
	}
}

// Reusing returns evaluators that keep, from one program to the next, what many
// of them import: what a worker process offers. Each evaluates one program at a
// time.
func Reusing() map[Language]lang.Evaluator {
	return map[Language]lang.Evaluator{CUE: cue.Reusing(), Jsonnet: jsonnet.Reusing(), YAML: yaml.Evaluator{}}
}

// evaluator returns the given evaluator of a language, or the front end itself.
func evaluator(l Language, given map[Language]lang.Evaluator) lang.Evaluator {
	if e, ok := given[l]; ok {
		return e
	}
	return FrontEnds()[l]
}
