package render

import (
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/jsonnet"
	"github.com/writ-dev/writ/lang/yaml"
	"github.com/writ-dev/writ/stdlib"
)

// Outline tells what a program may read and which inputs it may take, without
// evaluating it. A file of tests is a program here.
func Outline(o Options) (lang.Outline, error) {
	language, err := Detect(o.FS, o.Entry)
	if err != nil {
		return lang.Outline{}, err
	}
	p := lang.Program{
		FS: o.FS, Entry: o.Entry, Library: stdlib.FS(), Tests: lang.IsTest(o.Entry),
		Inputs: o.Inputs, Offers: o.Offers, Settings: o.Settings,
	}
	switch language {
	case CUE:
		return cue.Outline(p)
	case Jsonnet:
		return jsonnet.Outline(p)
	}
	return yaml.Outline(p)
}
