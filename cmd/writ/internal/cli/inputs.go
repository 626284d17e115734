package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/jsonnet/bundler"
	"github.com/writ-dev/writ/render"
)

// given is the inputs of the command line. A name alone is true.
func (s *sourceFlags) given() (render.Select, error) {
	g := render.Select{Inputs: map[string]string{}}
	for i, f := range append(s.inputs[:len(s.inputs):len(s.inputs)], s.code...) {
		flag, code := "--input", i >= len(s.inputs)
		if code {
			flag = "--input-code"
		}
		name, value, ok := strings.Cut(f, "=")
		if name == "" || code && !ok {
			return g, usageError{fmt.Errorf("%s %q: want name=value", flag, f)}
		}
		if !ok {
			value = "true"
		}
		if _, twice := g.Inputs[name]; twice {
			return g, usageError{fmt.Errorf("%s %s is given twice", flag, name)}
		}
		g.Inputs[name] = value
		if code {
			g.Code = append(g.Code, name)
		}
	}
	return g, nil
}

// settings adds what the command line says of the languages to the project.
func (s *sourceFlags) settings() error {
	for _, d := range s.search {
		below, err := s.flagDir("-J", d)
		if err != nil {
			return err
		}
		s.project.Search = append(s.project.Search, below)
	}
	var err error
	if s.modules != "" {
		s.project.Modules, err = s.flagDir("--modcache", s.modules)
	}
	return err
}

// flagDir is a directory that a flag names, relative to the project's.
func (s *sourceFlags) flagDir(flag, dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", usageError{fmt.Errorf("%s %s: no such directory", flag, dir)}
	}
	if rel, err := filepath.Rel(s.root, abs); err != nil || !filepath.IsLocal(rel) {
		return "", diag.List{{
			Code: "LANG002", Message: fmt.Sprintf("%s %s is outside of the module root %s", flag, dir, s.root),
			Hint: "put a jsonnetfile.json, or cue.mod/module.cue, into the directory that is above both: that is the module root then",
		}}
	}
	below, err := filepath.Rel(s.dir, abs)
	return filepath.ToSlash(below), err
}

// verifyPackages checks the packages of jsonnet-bundler in the module against
// their lock, unless nothing of them has changed since.
func (a *app) verifyPackages(s *sourceFlags, m *module) error {
	if _, err := m.root.Stat(bundler.FileName); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	const question = "packages of jsonnet-bundler"
	var v bundler.Verified
	if s.session != nil {
		if b, _, ok := s.session.Recall(question); ok && json.Unmarshal(b, &v.Warnings) == nil {
			a.warn(diag.From(s.locate(v.Warnings.Err())))
			return nil
		}
	}
	v, err := bundler.Verify(m.root.FS())
	if err != nil {
		return s.locate(err)
	}
	if b, err := json.Marshal(v.Warnings); err == nil && s.session != nil {
		s.session.Remember(question, v.Reads, b)
	}
	a.warn(diag.From(s.locate(v.Warnings.Err())))
	return nil
}
