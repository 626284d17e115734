package jsonnet_test

import (
	"testing"

	"github.com/writ-dev/writ/lang/jsonnet"
	"github.com/writ-dev/writ/lang/langtest"
)

func TestCases(t *testing.T) { langtest.Run(t, jsonnet.Evaluator{}, "testdata/*.txtar") }
