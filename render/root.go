package render

import (
	"os"
	"path/filepath"
)

// ModuleRoot is the nearest directory, from dir upwards, that a module of
// either language starts at, or a project of Tanka, and whether there is one. No
// evaluation reads outside of it.
func ModuleRoot(dir string) (string, bool) {
	for d := dir; ; d = filepath.Dir(d) {
		for _, mark := range []string{"cue.mod", "jsonnetfile.json", "tkrc.yaml"} {
			if _, err := os.Stat(filepath.Join(d, mark)); err == nil {
				return d, true
			}
		}
		if d == filepath.Dir(d) {
			return dir, false
		}
	}
}
