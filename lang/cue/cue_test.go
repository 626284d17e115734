package cue_test

import (
	"testing"

	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/langtest"
)

func TestCases(t *testing.T) { langtest.Run(t, cue.Evaluator{}, "testdata/*.txtar") }
