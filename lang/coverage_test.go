package lang_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
)

func TestMergeCoverage(t *testing.T) {
	at := func(kind lang.PointKind, line, column, endColumn int, hit bool) lang.Point {
		return lang.Point{Kind: kind, Line: line, Column: column, EndLine: line, EndColumn: endColumn, Hit: hit}
	}
	first := lang.Coverage{
		{File: "b.cue", Points: []lang.Point{at(lang.PointArm, 2, 5, 9, false), at(lang.PointField, 1, 1, 9, true)}},
	}
	second := lang.Coverage{
		{File: "b.cue", Points: []lang.Point{
			at(lang.PointArm, 2, 5, 9, true), at(lang.PointField, 1, 1, 9, false), at(lang.PointField, 2, 5, 9, false),
		}},
		{File: "a.cue", Points: []lang.Point{at(lang.PointField, 1, 3, 4, false), at(lang.PointField, 1, 3, 20, true)}},
	}
	want := lang.Coverage{
		{File: "a.cue", Points: []lang.Point{at(lang.PointField, 1, 3, 20, true), at(lang.PointField, 1, 3, 4, false)}},
		{File: "b.cue", Points: []lang.Point{
			at(lang.PointField, 1, 1, 9, true), at(lang.PointArm, 2, 5, 9, true), at(lang.PointField, 2, 5, 9, false),
		}},
	}
	got := first.Merge(second)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("merged (-want +got):\n%s", d)
	}
	if hit, total := got.Count(); hit != 3 || total != 5 {
		t.Errorf("%d of %d points used, want 3 of 5", hit, total)
	}
	if d := cmp.Diff(got, got.Merge(nil)); d != "" {
		t.Errorf("merged with nothing (-want +got):\n%s", d)
	}
}

func TestCoverFile(t *testing.T) {
	for name, want := range map[string]bool{
		"main.jsonnet": true, "lib/a.cue": true, "a/vendor.cue": true,
		"@writ/cue/app/app.cue": false, "vendor/x/y.libsonnet": false, "a/vendor/y.libsonnet": false,
		"cue.mod/pkg/x/y.cue": false, "a_test.cue": false, "a_test.jsonnet": false,
	} {
		if got := lang.CoverFile(name); got != want {
			t.Errorf("CoverFile(%q) = %t", name, got)
		}
	}
}
