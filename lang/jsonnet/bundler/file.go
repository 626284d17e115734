package bundler

import (
	"path"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// File is what a jsonnetfile.json or jsonnetfile.lock.json says.
type File struct {
	Dependencies []Dependency
	// LegacyImports says that packages have a short name in vendor too.
	LegacyImports bool
}

// Dependency is one package. Pos is where it is written.
type Dependency struct {
	// Name is the directory below vendor, "" for a local package whose name
	// depends on where it is.
	Name string
	// Short is the name for legacy imports.
	Short string
	// Local says that it is a directory of the module, which has no sum.
	Local bool
	// Single says that the packages that it depends on are not wanted.
	Single  bool
	Version string
	// Sum is the base64 of a SHA-256; "" when none is given.
	Sum string
	Pos diag.Position
}

// Parse reads a jsonnetfile.json or its lock, in either of the two formats that
// jsonnet-bundler knows.
func Parse(name string, data []byte) (File, error) {
	f := File{LegacyImports: true}
	if len(data) == 0 {
		return f, nil
	}
	v, err := lang.ParseJSON(name, data)
	if err != nil {
		return f, err
	}
	p := parser{}
	if v.Kind != lang.Object {
		p.fail(v.Pos, "", "is not an object")
		return f, p.problems.Err()
	}
	if version, ok := v.Field("version"); ok && version.Text != "0" && version.Text != "1" {
		p.fail(version.Pos, ".version", "is a format that is not known")
	}
	if legacy, ok := v.Field("legacyImports"); ok {
		f.LegacyImports = p.boolean(legacy, ".legacyImports")
	}
	list, _ := v.Field("dependencies")
	if list.Kind != lang.List && list.Kind != lang.Null {
		p.fail(list.Pos, ".dependencies", "is not a list")
	}
	for i, item := range list.Items {
		if d, ok := p.dependency(item, lang.JoinIndex(".dependencies", i)); ok {
			f.Dependencies = append(f.Dependencies, d)
		}
	}
	return f, p.problems.Err()
}

type parser struct{ problems diag.List }

func (p *parser) fail(pos diag.Position, at, message string) {
	p.problems = append(p.problems, diag.Diagnostic{Code: "VENDOR005", Pos: pos, Path: at, Message: message, Hint: "let jb write the file"})
}

func (p *parser) boolean(v lang.Value, at string) bool {
	if v.Kind != lang.Bool {
		p.fail(v.Pos, at, "is not true or false")
	}
	return v.Text == "true"
}

// text is a member that is a string, or "" when it is not there.
func (p *parser) text(v lang.Value, at, name string) string {
	f, ok := v.Field(name)
	if ok && f.Kind != lang.String && f.Kind != lang.Null {
		p.fail(f.Pos, at+"."+name, "is not a string")
	}
	if f.Kind != lang.String {
		return ""
	}
	return f.Text
}

func (p *parser) dependency(v lang.Value, at string) (Dependency, bool) {
	before := len(p.problems)
	d := Dependency{Pos: v.Pos}
	source, _ := v.Field("source")
	git, isGit := source.Field("git")
	local, isLocal := source.Field("local")
	switch {
	case isGit && git.Kind == lang.Object:
		remote, subdir := p.text(git, at+".source.git", "remote"), p.text(git, at+".source.git", "subdir")
		name, ok := packageName(remote, subdir)
		if !ok {
			p.fail(git.Pos, at+".source.git", "names no repository")
		}
		d.Name, d.Short = name, path.Base(name)
	case isLocal && local.Kind == lang.Object:
		d.Local = true
		if dir := path.Base(path.Clean(p.text(local, at+".source.local", "directory"))); dir != "." && dir != ".." && dir != "/" {
			d.Name, d.Short = dir, dir
		}
	default:
		p.fail(v.Pos, at+".source", "is neither git nor local")
	}
	d.Version, d.Sum = p.text(v, at, "version"), p.text(v, at, "sum")
	if name := p.text(v, at, "name"); name != "" {
		d.Short = name
	}
	if single, ok := v.Field("single"); ok {
		d.Single = p.boolean(single, at+".single")
	}
	return d, len(p.problems) == before
}

// packageName is the directory below vendor of a package of a repository:
// HOST/USER/REPO, and the directory in it.
func packageName(remote, subdir string) (string, bool) {
	at := remote
	if _, rest, ok := strings.Cut(at, "://"); ok {
		at = strings.TrimPrefix(rest, "git@")
	} else if rest, ok := strings.CutPrefix(at, "git@"); ok {
		at = strings.Replace(rest, ":", "/", 1)
	}
	parts := strings.Split(at, "/")
	if end := strings.LastIndex(at, ".git"); end >= 0 && strings.Count(at[:end], "/") >= 2 {
		parts = strings.Split(at[:end], "/")
	} else if len(parts) >= 3 {
		// What follows the repository is not part of its name.
		parts = parts[:3]
		parts[2], _, _ = strings.Cut(parts[2], "@")
	}
	name := path.Join(strings.Join(parts, "/"), path.Clean("/"+subdir))
	if len(parts) < 3 || strings.HasPrefix(name, "/") || path.Clean(name) != name || strings.HasPrefix(name, "../") {
		return "", false
	}
	for _, part := range parts {
		if part == "" || part == "." || part == ".." {
			return "", false
		}
	}
	return name, true
}
