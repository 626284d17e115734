// Package diff compares and merges API objects the way the API means them:
// quantities by value, keyed lists by key, zero and null like absent where the
// type makes no difference. It is pure.
package diff

import (
	"github.com/writ-dev/writ/cluster/api"
)

// Change is one field that differs. Path is like
// ".spec.template.spec.containers[name=web].image": a list with a merge key
// names its element by key, any other list by index. Old and New are decoded
// JSON (json.Number for numbers); nil means absent.
type Change struct {
	Path string `json:"path"`
	Old  any    `json:"old,omitempty"`
	New  any    `json:"new,omitempty"`
}

// Compare lists the fields in which new differs from old, in order of path.
func Compare(k api.Kind, old, new map[string]any) []Change { return nil }
