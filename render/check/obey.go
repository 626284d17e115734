package check

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check/policy"
)

// obey applies policies, which may be nil, to documents and to the accesses
// that those of Writ's kinds, served, declare. Broken is what is wrong with the
// policies themselves.
func obey(ctx context.Context, set *policy.Set, documents []render.Document, served []checked, pods pods) (found []Finding, broken diag.List, err error) {
	if set == nil {
		return nil, nil, nil
	}
	objects := make([]object.Object, len(documents))
	index := map[object.Key]int{}
	for i, d := range documents {
		objects[i] = d.Object
		index[d.Object.Key()] = i
	}
	violations, err := set.Check(ctx, objects, edges(served, pods, index))
	if err != nil && !errors.As(err, &broken) {
		return nil, nil, fmt.Errorf("check policies: %w", err)
	}
	for _, v := range violations {
		d := diag.Diagnostic{Code: PolicyPrefix + strings.TrimPrefix(v.Policy, "#"), Pos: v.Pos, Path: v.Path, Message: v.Message, Hint: v.Hint}
		if v.Document >= 0 {
			doc := documents[v.Document]
			d.Object, d.Pos = doc.Object.Key().String(), doc.Origin.Field(v.Path)
			d.Notes = []diag.Note{{Pos: v.Pos, Text: "the policy"}}
		}
		found = append(found, Finding{Diagnostic: d, Severity: Severity(v.Severity)})
	}
	return found, broken, nil
}
