package lang

import (
	"path"
	"slices"
)

// Settings are what a language is told about a program besides its files and
// inputs. Directories are slash-separated and relative to Program.FS.
type Settings struct {
	// Search is where Jsonnet looks for an import that is not beside the
	// importing file, before lib and vendor of the module root. Of several
	// directories that have the file the last one counts, as with jsonnet -J.
	Search []string `json:"search,omitempty"`
	// Code is the inputs whose text is an expression of Jsonnet and not a
	// string, sorted. Other languages read an input's text in their own way.
	Code []string `json:"code,omitempty"`
	// Modules is a cache of CUE modules, as the cue command keeps one where
	// CUE_CACHE_DIR says; "" is none.
	Modules string `json:"modules,omitempty"`
}

// Below is the settings seen from a directory that theirs are relative to.
func (s Settings) Below(dir string) Settings {
	s.Search = slices.Clone(s.Search)
	for i, d := range s.Search {
		s.Search[i] = path.Join(dir, d)
	}
	if s.Modules != "" {
		s.Modules = path.Join(dir, s.Modules)
	}
	return s
}
