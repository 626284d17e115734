package render

// ProjectFile is the name of the optional project file in a configuration
// directory.
const ProjectFile = "writ.yaml"

// Project is what writ.yaml says. A directory without one is a Project with
// Entry "." and the directory's name.
type Project struct {
	// Name is the release's name.
	Name string
	// Entry is the program, relative to the directory.
	Entry string
	// Namespace is the default namespace, "default" when not given.
	Namespace string
	// Inputs are given to the program.
	Inputs map[string]string
	// Images are built before evaluation; the reference of image "web" is
	// given to the program as input "image_web".
	Images []Image
}

// Image is an image to build: a Go main package in the directory Go, relative
// to the project.
type Image struct {
	Name string
	Go   string
}

// LoadProject reads writ.yaml in dir. Errors are diag.List with positions.
func LoadProject(dir string) (*Project, error) { return nil, nil }
