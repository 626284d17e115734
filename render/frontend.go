package render

import (
	"github.com/writ-dev/writ/lang"
)

// evaluator returns the given evaluator of a language, or the front end itself.
func evaluator(l Language, given map[Language]lang.Evaluator) lang.Evaluator {
	return given[l]
}
