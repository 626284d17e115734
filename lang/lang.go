// Package lang is the contract between configuration languages and the rest
// of Writ: a Program goes in, a Value comes out. A Value is plain JSON data
// that remembers where each part of it was written.
//
// Evaluation is hermetic. A program sees its files below the module root, the
// standard library, and its declared inputs; no environment, clock, random
// source or network. Every file read is recorded, so that a result can be
// cached and proven.
package lang

import (
	"context"
	"io/fs"
)

// Program is what to evaluate.
type Program struct {
	// FS is the module root. It must refuse paths that leave it; use
	// os.Root.FS for a directory on disk.
	FS fs.FS
	// Entry is the file or directory to evaluate, slash-separated and relative
	// to FS; "." is the root itself.
	Entry string
	// Inputs are the program's parameters: CUE @tag names, and Jsonnet
	// top-level arguments or external variables. An input that the program
	// does not have is an error, as is a required one that is missing.
	Inputs map[string]string
	// Offers are inputs for the program to take or leave: one that it does not
	// have is ignored. Inputs go before Offers of the same name.
	Offers map[string]string
	// Overlay are files that are there besides those of FS, or instead of them,
	// by name: parts of the program that are computed. They are not listed with
	// their directory.
	Overlay map[string][]byte
	// Library is Writ's standard library, importable but not part of the
	// module.
	Library fs.FS
	// Stack is how many calls may be inside calls; 0 means DefaultStack.
	Stack int
	// Settings are what only some languages have.
	Settings Settings
	// Tests says that Entry is a file of tests. The result is then the value of
	// its field "tests"; parts of it may fail to be evaluated without failing
	// the rest, see Result.Faults.
	Tests bool
	// Cover asks for Result.Coverage.
	Cover bool
	// Expression asks for the value of this expression instead of the
	// program's: one in the program's language, that sees the program as the
	// front end says. It is not for Tests, Cover or Explain. Positions in it are
	// in ExpressionFile.
	Expression string
	// Explain asks for Result.Explained: how the parts of the value at these
	// paths, written as JoinField and JoinIndex do, came to be. It is not for
	// Tests. No more than MaxExplain are explained.
	Explain []string
}

// DefaultStack is how many calls a program may have inside calls.
const DefaultStack = 500

// Read is one file that an evaluation looked at. SHA256 is lower-case hex; it
// is empty for a file that was looked for and could not be read, because its
// appearing would change the result. A File that ends in "/" is a directory
// that was listed; its digest is over the names in it. One whose last element
// starts with "*" is the names in a directory that end so. Files of the library
// start with LibraryPrefix.
type Read struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// Result is the outcome of an evaluation. Reads is sorted by file and has no
// duplicates.
type Result struct {
	Value Value  `json:"value"`
	Reads []Read `json:"reads"`
	// Inputs are those that the program has, of the ones given, as given. No
	// other can have made a difference.
	Inputs map[string]string `json:"inputs,omitempty"`
	// Faults are the tests, and members of tests, that could not be evaluated.
	Faults []Fault `json:"faults,omitempty"`
	// Coverage is what was used of the program's files, when asked for.
	Coverage Coverage `json:"coverage,omitempty"`
	// Shape is of the value of an Expression.
	Shape Shape `json:"shape,omitzero"`
	// Explained is one explanation for each path of Program.Explain.
	Explained []Explanation `json:"explained,omitempty"`
}

// ExpressionFile stands for the text of Program.Expression in positions.
const ExpressionFile = "(expression)"

// Shape tells of a value what data does not.
type Shape struct {
	// Type is what kind of value it is, in the words of the language.
	Type string `json:"type"`
	// Source is how the language writes a value that is no data, such as a
	// constraint or a function. It is empty for data.
	Source string `json:"source,omitempty"`
}

// Evaluator turns a program into a value. Errors are diag.List with positions
// relative to the module root. With an error there is no result, but for one
// that holds only the Coverage where that was asked for. Implementations never
// panic on any input.
type Evaluator interface {
	Eval(ctx context.Context, p Program) (*Result, error)
}
