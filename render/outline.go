package render

import (
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/jsonnet"
	"github.com/writ-dev/writ/lang/yaml"
	"github.com/writ-dev/writ/stdlib"
)

// Outliner tells what programs may read and which inputs they may take, without
// evaluating them. It is not for concurrent use.
type Outliner struct {
	cue     cue.Outliner
	jsonnet jsonnet.Outliner
}

// Outline outlines a program. A file of tests is one here.
func (x *Outliner) Outline(o Options) (lang.Outline, error) {
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
		return x.cue.Outline(p)
	case Jsonnet:
		return x.jsonnet.Outline(p)
	}
	return yaml.Outline(p)
}
