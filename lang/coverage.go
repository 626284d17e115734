package lang

import (
	"cmp"
	"slices"

	"github.com/writ-dev/writ/lang/diag"
)

// PointKind is what kind of thing a Point of a program is.
type PointKind string

// The kinds of points. What exactly each front end counts is in its package
// documentation.
const (
	PointField    PointKind = "field"    // a field of an object
	PointThen     PointKind = "then"     // what an "if" gives when its condition holds
	PointElse     PointKind = "else"     // what it gives otherwise, written or not
	PointAnd      PointKind = "and"      // the right side of "&&"
	PointOr       PointKind = "or"       // the right side of "||"
	PointArm      PointKind = "arm"      // one alternative of a disjunction
	PointBody     PointKind = "body"     // the body of a comprehension
	PointFunction PointKind = "function" // the body of a function
)

// Point is a place of a program that an evaluation either used or did not.
// Lines and columns count from 1, columns in bytes; the end is exclusive.
type Point struct {
	Kind      PointKind `json:"kind"`
	Line      int       `json:"line"`
	Column    int       `json:"column"`
	EndLine   int       `json:"endLine"`
	EndColumn int       `json:"endColumn"`
	Hit       bool      `json:"hit"`
}

// FileCoverage is the points of one file, sorted by place.
type FileCoverage struct {
	File   string  `json:"file"`
	Points []Point `json:"points"`
}

// Coverage tells which parts of a program's files an evaluation used, sorted
// by file. Files of the library, vendored ones and tests are not in it.
type Coverage []FileCoverage

// Merge adds the coverage of another evaluation: a point is used when either
// used it.
func (c Coverage) Merge(other Coverage) Coverage {
	files := map[string][]Point{}
	for _, part := range []Coverage{c, other} {
		for _, f := range part {
			files[f.File] = append(files[f.File], f.Points...)
		}
	}
	merged := make(Coverage, 0, len(files))
	for file, points := range files {
		merged = append(merged, FileCoverage{File: file, Points: mergePoints(points)})
	}
	slices.SortFunc(merged, func(a, b FileCoverage) int { return cmp.Compare(a.File, b.File) })
	return merged
}

// mergePoints sorts points and makes one of those that are the same place.
func mergePoints(points []Point) []Point {
	slices.SortFunc(points, comparePoints)
	out := points[:0:0]
	for _, p := range points {
		if n := len(out); n > 0 && comparePoints(out[n-1], p) == 0 {
			out[n-1].Hit = out[n-1].Hit || p.Hit
			continue
		}
		out = append(out, p)
	}
	return out
}

func comparePoints(a, b Point) int {
	return cmp.Or(
		cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
		cmp.Compare(b.EndLine, a.EndLine), cmp.Compare(b.EndColumn, a.EndColumn),
		cmp.Compare(a.Kind, b.Kind),
	)
}

// Count is the number of points used and of all.
func (c Coverage) Count() (hit, total int) {
	for _, f := range c {
		h, t := f.Count()
		hit, total = hit+h, total+t
	}
	return hit, total
}

// Count is the number of points of the file used and of all.
func (f FileCoverage) Count() (hit, total int) {
	for _, p := range f.Points {
		if p.Hit {
			hit++
		}
	}
	return hit, len(f.Points)
}

// Pos is the place where the point starts.
func (p Point) Pos(file string) diag.Position {
	return diag.Position{File: file, Line: p.Line, Column: p.Column}
}

// CoverFile reports whether a file's points count: not for the library, for
// vendored files and for tests.
func CoverFile(name string) bool {
	return !IsLibrary(name) && !vendored(name) && !IsTest(name)
}
