package cue

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// loader builds the instances of one program.
type loader struct {
	program lang.Program
	reader  *lang.Reader
	inputs  *inputs
	context *build.Context
	module  module
	// dependencies are the modules that the main one depends on.
	dependencies []dependency
	files        map[string]*ast.File
	meter        *meter // nil when coverage is not asked for
	kept         *kept  // nil when nothing is shared with other programs
	// imported is what importPackage returned.
	imported map[string]*build.Instance
	// embeds are the files that embed others.
	embeds map[string]bool
	// stack is the packages being loaded, to find import cycles.
	stack []string
	// failed is what went wrong while loading imports, in Writ's terms.
	failed diag.List
	// unexplained is which of the paths to explain the evaluator failed at.
	unexplained []int
}

func newLoader(p lang.Program, k *kept) *loader {
	l := &loader{
		program:  p,
		reader:   lang.NewReader(p),
		inputs:   newInputs(p.Given(), p.Inputs),
		files:    map[string]*ast.File{},
		imported: map[string]*build.Instance{},
		embeds:   map[string]bool{},
		kept:     k,
	}
	if k != nil {
		l.reader.Remember(&k.listings)
	}
	if p.Cover {
		l.meter = newMeter()
	}
	l.context = build.NewContext(build.Loader(l.importPackage))
	return l
}

// entry loads the program's own package.
func (l *loader) entry() (*build.Instance, error) {
	name := l.program.Entry
	info, err := l.reader.Stat(name)
	if err != nil {
		return nil, lang.Failure(diag.Position{}, name, err)
	}
	dir := name
	if !info.IsDir() {
		dir = path.Dir(name)
	}
	if err := l.findModule(dir); err != nil {
		return nil, err
	}
	var files []*ast.File
	switch {
	case l.program.Tests:
		files, err = l.testFiles(name)
	case info.IsDir():
		files, err = l.packageFiles(dir, "", l.module, l.inputs, l.parse)
	default:
		var f *ast.File
		f, err = l.parse(name)
		files = []*ast.File{f}
	}
	if err != nil {
		return nil, err
	}
	if err := l.inputs.inject(files); err != nil {
		return nil, err
	}
	inst := l.context.NewInstance(dir, nil)
	inst.Module = l.module.path
	return inst, l.complete(inst, files)
}

// complete adds the files to an instance and loads what they import.
func (l *loader) complete(inst *build.Instance, files []*ast.File) error {
	for _, f := range files {
		if inst.PkgName == "" {
			inst.PkgName = f.PackageName()
		}
		if err := inst.AddSyntax(f); err != nil {
			return l.diagnose(err)
		}
	}
	err := inst.Complete()
	if len(l.failed) > 0 {
		return l.failed.Err()
	}
	if err != nil {
		return l.diagnose(err)
	}
	if inst.ResolutionErr != nil {
		return l.diagnose(inst.ResolutionErr)
	}
	return nil
}

// parse reads and parses a file once.
func (l *loader) parse(name string) (*ast.File, error) {
	if f, ok := l.files[name]; ok {
		return f, nil
	}
	f, err := l.parseNew(name)
	if err == nil {
		l.files[name] = f
	}
	return f, err
}

func (l *loader) parseNew(name string) (*ast.File, error) {
	data, err := l.reader.ReadFile(name)
	if err != nil {
		return nil, lang.Failure(diag.Position{}, name, err)
	}
	if line := tooDeep(data); line > 0 {
		return nil, diag.Errorf(diag.Position{File: name, Line: line}, "CUE004", "brackets or operators nest deeper than %d", maxNesting)
	}
	f, err := parser.ParseFile(name, data, parser.ParseComments)
	if err != nil {
		return nil, l.diagnose(err)
	}
	if l.embeds[name], err = l.embed(name, f); err != nil {
		return nil, err
	}
	if err := refuse(f); err != nil {
		return nil, err
	}
	if l.meter != nil && lang.CoverFile(name) {
		l.meter.attach(f)
	}
	return f, nil
}

// parseFunc parses a file; see parse.
type parseFunc func(name string) (*ast.File, error)

// packageFiles parses the files of a package in dir. With want "" the package
// is the only one that the directory holds. Files above dir belong to it too,
// up to the root of a real module.
func (l *loader) packageFiles(dir, want string, m module, in *inputs, parse parseFunc) ([]*ast.File, error) {
	own, err := l.directoryFiles(dir, in, parse)
	if err != nil {
		return nil, err
	}
	if want == "" {
		if want, err = onlyPackage(dir, own); err != nil {
			return nil, err
		}
	}
	files := filterPackage(own, want)
	if len(files) == 0 {
		return nil, nil
	}
	for d := dir; want != "" && m.real && d != m.root && d != "."; {
		d = path.Dir(d)
		above, err := l.directoryFiles(d, in, parse)
		if err != nil {
			return nil, err
		}
		files = append(files, filterPackage(above, want)...)
	}
	return files, nil
}

func filterPackage(files []*ast.File, name string) []*ast.File {
	var of []*ast.File
	for _, f := range files {
		if packageName(f) == name {
			of = append(of, f)
		}
	}
	return of
}

func packageName(f *ast.File) string {
	if name := f.PackageName(); name != "_" {
		return name
	}
	return ""
}

// onlyPackage is the name of the package that a directory holds. Files without
// a package clause make a package only when they are alone.
func onlyPackage(dir string, files []*ast.File) (string, error) {
	first := map[string]string{}
	for _, f := range files {
		if _, ok := first[packageName(f)]; !ok {
			first[packageName(f)] = f.Filename
		}
	}
	if len(first) > 1 {
		delete(first, "")
	}
	switch len(first) {
	case 0:
		return "", diag.List{{
			Code: "CUE003", Message: "no CUE files in " + dir,
			Hint: "name the directory or the file that holds the program",
		}}
	case 1:
		for name := range first {
			return name, nil
		}
	}
	d := diag.Diagnostic{
		Code: "CUE003", Pos: diag.Position{File: dir},
		Message: "the directory holds several packages",
		Hint:    "name one file, or give each package its own directory",
	}
	for name, file := range first {
		d.Notes = append(d.Notes, diag.Note{Pos: diag.Position{File: file}, Text: "package " + name})
	}
	slices.SortFunc(d.Notes, func(a, b diag.Note) int { return strings.Compare(a.Text, b.Text) })
	return "", diag.List{d}
}

// directoryFiles parses the CUE files of a directory that belong to a program.
func (l *loader) directoryFiles(dir string, in *inputs, parse parseFunc) ([]*ast.File, error) {
	names, err := l.reader.ReadNames(dir, ".cue")
	if err != nil {
		return nil, lang.Failure(diag.Position{}, dir, err)
	}
	var files []*ast.File
	for _, name := range names {
		if name[0] == '_' || name[0] == '.' ||
			strings.HasSuffix(name, "_test.cue") || strings.HasSuffix(name, "_tool.cue") {
			continue
		}
		f, err := parse(path.Join(dir, name))
		if err != nil {
			return nil, err
		}
		included, err := in.included(f)
		if err != nil {
			return nil, err
		}
		if included {
			files = append(files, f)
		}
	}
	return files, nil
}

// importPackage is build.LoadFunc: it returns nil for a built-in package.
func (l *loader) importPackage(pos token.Pos, importPath string) *build.Instance {
	if inst, ok := l.imported[importPath]; ok && !slices.Contains(l.stack, importPath) {
		return inst
	}
	inst := l.loadPackage(pos, importPath)
	l.imported[importPath] = inst
	return inst
}

func (l *loader) loadPackage(pos token.Pos, importPath string) *build.Instance {
	inst := l.context.NewInstance(importPath, nil)
	inst.ImportPath = importPath
	fail := func(code, message, hint string) *build.Instance {
		l.failed = append(l.failed, diag.Diagnostic{Code: code, Pos: position(pos), Message: message, Hint: hint})
		inst.Err = cueerrors.Newf(pos, "%s", message)
		return inst
	}
	if slices.Contains(l.stack, importPath) {
		return fail("CUE006", "packages import each other: "+strings.Join(append(l.stack, importPath), " -> "), "")
	}
	l.stack = append(l.stack, importPath)
	defer func() { l.stack = l.stack[:len(l.stack)-1] }()

	p := ast.ParseImportPath(importPath)
	first, _, _ := strings.Cut(p.Path, "/")
	switch {
	case build.IsLocalImport(importPath):
		return fail("CUE006", "relative import "+strconv.Quote(importPath)+" is not allowed", "give the module a cue.mod/module.cue and import by its path")
	case first == "tool":
		return fail("CUE006", "package "+p.Path+" does input and output, which programs cannot", "pass what you need as an input")
	case !strings.Contains(first, "."):
		return nil
	}
	key := packageKey{l.module, importPath}
	files, m, err := l.importedFiles(pos, p, l.parser(key))
	if err == nil && l.kept != nil {
		if have := l.again(key, files); have != nil {
			return have
		}
		if l.kept.packages[key] != nil { // some of the trees are part of what it was
			delete(l.kept.files, key)
			files, m, err = l.importedFiles(pos, p, l.parser(key))
		}
		l.kept.packages[key] = inst
	}
	if err != nil {
		l.failed = append(l.failed, diag.From(err)...)
		inst.Err = cueerrors.Newf(pos, "import failed")
		return inst
	}
	for _, f := range files {
		if err := inst.AddSyntax(f); err != nil {
			inst.Err = err
			return inst
		}
	}
	if len(inst.Files) == 0 {
		return fail("CUE006", "cannot find package "+strconv.Quote(importPath), l.importHint(p))
	}
	inst.PkgName = inst.Files[0].PackageName()
	inst.Module = m.path
	if err := inst.Complete(); err == nil && inst.ResolutionErr != nil {
		inst.Err = inst.ResolutionErr
	}
	return inst
}

// importedFiles parses the files of an imported package, and tells the module
// that it is of.
func (l *loader) importedFiles(pos token.Pos, p ast.ImportPath, parse parseFunc) ([]*ast.File, module, error) {
	dirs, m := l.packageDirs(p)
	var all []*ast.File
	for _, dir := range dirs {
		info, err := l.reader.Stat(dir)
		if errors.Is(err, lang.ErrOutside) {
			return nil, m, lang.Failure(position(pos), dir, err)
		}
		if err != nil || !info.IsDir() {
			continue
		}
		files, err := l.packageFiles(dir, p.Qualifier, m, newInputs(nil, nil), parse)
		if err != nil {
			return nil, m, err
		}
		all = append(all, files...)
	}
	return all, m, nil
}
