package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/lang/diag"
)

// ProjectFile is the name of the optional project file in a configuration
// directory.
const ProjectFile = "writ.yaml"

// maxProject bounds the size of a project file.
const maxProject = 1 << 20

// Project is what writ.yaml says. A directory without one is a Project with
// Entry "." and the directory's name.
type Project struct {
	// Name is the release's name.
	Name string
	// Entry is the program, slash-separated and relative to the directory. It
	// is "." in a project that has Units.
	Entry string
	// Namespace is the default namespace, "default" when not given.
	Namespace string
	// Inputs are offered to every program. InputPos is where each is given, and
	// Code those that are expressions of Jsonnet.
	Inputs   map[string]string
	InputPos map[string]diag.Position
	Code     []string
	// Search is where Jsonnet looks for imports, relative to the directory; see
	// lang.Settings.
	Search []string
	// Images are built before evaluation; the reference of image "web" is
	// offered to every program as input "image_web".
	Images []Image
	// Units are the programs of a project that has several.
	Units []Unit
	// Environments are the ways in which the project is rendered.
	Environments []Environment
	// Modules is a cache of CUE modules, relative to the directory; see
	// lang.Settings.
	Modules string
	// Policies are files that say what the documents must be like, relative to
	// the directory.
	Policies []string
	// Schemas are files and directories with the CustomResourceDefinitions of
	// kinds that the documents use, relative to the directory.
	Schemas []string
	// Limits bound every evaluation.
	Limits Limits
	// Ignores are what the linter is not to report.
	Ignores []Ignore
}

// Unit is one program, or all that a pattern matches.
type Unit struct {
	Name string
	// Entry is a file or directory, relative to the project. With * or ? in it,
	// it is a pattern as of path.Match, and each directory and program that it
	// matches is a unit, named by its path. With "..." as its last element, each
	// CUE package and each main.jsonnet in or below the directory is a unit.
	Entry string
	// Namespace is the default namespace; empty means the environment's or the
	// project's.
	Namespace string
	// Inputs are given to the program, which must have them. InputPos is where
	// each is given, and Code those that are expressions of Jsonnet.
	Inputs   map[string]string
	InputPos map[string]diag.Position
	Code     []string
	Pos      diag.Position
	// optional says that it need not have documents: it was found below a
	// directory, among all that is there.
	optional bool
}

// Environment is a set of inputs with a name, such as "prod".
type Environment struct {
	Name string
	// Namespace is the default namespace; empty means the project's.
	Namespace string
	// Inputs are offered to every program and go before the project's. InputPos
	// is where each is given, and Code those that are expressions of Jsonnet.
	Inputs   map[string]string
	InputPos map[string]diag.Position
	Code     []string
	// Units are the names of those that belong to it, or patterns of such
	// names; empty means all.
	Units []string
	Pos   diag.Position
}

// Limits bound one evaluation; zero means the default of the evaluator.
type Limits struct {
	Time   time.Duration
	Memory int64 // bytes
	Stack  int   // calls inside calls
}

// Image is an image to build: a Go main package in the directory Go, relative
// to the project.
type Image struct {
	Name string
	Go   string
	Pos  diag.Position
}

// Input is the name of the program's input that takes the image's reference.
func (i Image) Input() string { return "image_" + strings.ReplaceAll(i.Name, "-", "_") }

var projectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// LoadProject reads writ.yaml in dir. Errors are diag.List with positions.
func LoadProject(dir string) (*Project, error) {
	file, err := os.Open(filepath.Join(dir, ProjectFile))
	if errors.Is(err, fs.ErrNotExist) {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, diag.List{{Code: "RENDER001", Message: "no such directory: " + dir}}
		}
		if !info.IsDir() {
			return nil, diag.List{{Code: "RENDER001", Message: "is a file, not a directory: " + dir}}
		}
		return &Project{Name: defaultName(dir), Entry: ".", Namespace: "default"}, nil
	} else if err != nil {
		return nil, fmt.Errorf("open project: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxProject+1))
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	p, err := ParseProject(data)
	if err != nil {
		return nil, err
	}
	if p.Name == "" {
		p.Name = defaultName(dir)
	}
	return p, nil
}

// ParseProject reads the text of a project file. Name is empty when the text
// gives none.
func ParseProject(data []byte) (*Project, error) {
	p := &Project{Entry: ".", Namespace: "default"}
	if len(data) > maxProject {
		return nil, diag.Errorf(diag.Position{File: ProjectFile}, "PROJECT", "is larger than %d bytes", maxProject)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return p, nil
	} else if err != nil {
		return nil, diag.List{yamlError(err)}
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		return nil, diag.Errorf(nodePos(&second), "PROJECT", "a project file has only one document")
	} else if !errors.Is(err, io.EOF) {
		return nil, diag.List{yamlError(err)}
	}
	r := projectReader{p: p}
	r.read(doc.Content[0])
	r.whole()
	if err := r.errs.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// projectReader fills a Project from YAML nodes and collects what is wrong.
type projectReader struct {
	p    *Project
	errs diag.List
}

func (r *projectReader) read(n *yaml.Node) {
	if n.Tag == "!!null" {
		return
	}
	r.fields(n, "", []string{"name", "entry", "namespace", "inputs", "images", "units", "environments", "policies", "schemas", "limits", "jpath", "modcache", "lint"}, func(key string, v *yaml.Node) {
		switch key {
		case "name":
			r.p.Name = r.name(v, ".name")
		case "namespace":
			r.p.Namespace = r.name(v, ".namespace")
		case "entry":
			r.p.Entry = r.path(v, ".entry")
		case "inputs":
			r.p.Inputs, r.p.InputPos, r.p.Code = r.inputs(v, ".inputs")
		case "images":
			r.fields(v, ".images", nil, r.image)
		case "units":
			r.fields(v, ".units", nil, r.unit)
		case "environments":
			r.fields(v, ".environments", nil, r.environment)
		case "policies":
			r.p.Policies = r.paths(v, ".policies")
		case "schemas":
			r.p.Schemas = r.paths(v, ".schemas")
		case "modcache":
			r.p.Modules = r.path(v, ".modcache")
		case "jpath":
			r.p.Search = r.paths(v, ".jpath")
		case "limits":
			r.limits(v)
		case "lint":
			r.lint(v)
		}
	})
}

func (r *projectReader) image(name string, n *yaml.Node) {
	at := ".images." + name
	if !projectName.MatchString(name) {
		r.fail(nodePos(n), at, "an image's name is lower-case letters, digits and '-'", "")
		return
	}
	image := Image{Name: name, Pos: nodePos(n)}
	r.fields(n, at, []string{"go"}, func(_ string, v *yaml.Node) { image.Go = r.path(v, at+".go") })
	if image.Go == "" && len(r.errs) == 0 {
		r.fail(nodePos(n), at, "says not what to build", "add go: with the directory of a Go main package")
	}
	r.p.Images = append(r.p.Images, image)
}

// fields calls each for every member of the mapping n. known, when not nil,
// lists the only names allowed.
func (r *projectReader) fields(n *yaml.Node, at string, known []string, each func(key string, v *yaml.Node)) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		r.fail(nodePos(n), at, "must be a mapping", "")
		return
	}
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := key.Value
		switch first, dup := seen[name]; {
		case key.Kind != yaml.ScalarNode || key.Tag != "!!str":
			r.fail(nodePos(key), at, "a key must be a string", "quote it")
		case dup:
			r.errs = append(r.errs, diag.Diagnostic{
				Code: "PROJECT", Pos: nodePos(key), Path: at + "." + name, Message: "is given twice",
				Notes: []diag.Note{{Pos: nodePos(first), Text: "the first"}},
			})
		case known != nil && !slices.Contains(known, name):
			r.fail(nodePos(key), at+"."+name, "unknown field", "known here: "+strings.Join(known, ", "))
		default:
			seen[name] = key
			each(name, value)
		}
	}
}

// text is a scalar as written: an input is text, whatever it looks like.
func (r *projectReader) text(n *yaml.Node, at string) string {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.fail(nodePos(n), at, "must be a string", "")
		return ""
	}
	return n.Value
}

func (r *projectReader) name(n *yaml.Node, at string) string {
	s := r.text(n, at)
	if s != "" && !projectName.MatchString(s) {
		r.fail(nodePos(n), at, fmt.Sprintf("%q is no name: lower-case letters, digits and '-', at most 63", s), "")
	}
	return s
}

// path is a slash-separated path that stays inside the project.
func (r *projectReader) path(n *yaml.Node, at string) string {
	s := r.text(n, at)
	if s == "" {
		return ""
	}
	p := path.Clean(s)
	if !fs.ValidPath(p) || strings.Contains(p, `\`) {
		r.fail(nodePos(n), at, fmt.Sprintf("%q is outside of the project", s), "use a path relative to "+ProjectFile)
		return ""
	}
	return p
}

func (r *projectReader) paths(n *yaml.Node, at string) []string {
	var all []string
	for i, item := range r.items(n, at) {
		all = append(all, r.path(item, fmt.Sprintf("%s[%d]", at, i)))
	}
	return all
}

func (r *projectReader) fail(pos diag.Position, at, message, hint string) {
	r.errs = append(r.errs, diag.Diagnostic{Code: "PROJECT", Pos: pos, Path: at, Message: message, Hint: hint})
}

func nodePos(n *yaml.Node) diag.Position {
	return diag.Position{File: ProjectFile, Line: n.Line, Column: n.Column}
}

// yamlError finds the line in an error text of the YAML library.
func yamlError(err error) diag.Diagnostic {
	d := diag.Diagnostic{Code: "PROJECT", Pos: diag.Position{File: ProjectFile}}
	d.Message = strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if n, _ := fmt.Sscanf(d.Message, "line %d:", &line); n == 1 {
		d.Pos.Line = line
		_, d.Message, _ = strings.Cut(d.Message, ": ")
	}
	return d
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// defaultName makes a release's name of a directory's.
func defaultName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(filepath.Base(abs)), "-"), "-")
	if len(name) > 63 {
		name = strings.Trim(name[:63], "-")
	}
	if name == "" {
		return "app"
	}
	return name
}
