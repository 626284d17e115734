//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/nodeagent/runtime"
)

// defaultPath is the PATH of a container whose image sets none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// spec tells a child what to become. The parent decides everything that does
// not depend on the contents of the container's root.
type spec struct {
	// Exec: join a running container instead of building a root.
	Exec bool
	// Layers are directory names below LayerDir, top first; Upper, Work and
	// Root are directories for the overlay.
	LayerDir          string
	Layers            []string
	Upper, Work, Root string
	// OldRoot is the name under which the host is visible in the container's
	// root while it is built: not to be guessed by a link in the image.
	OldRoot      string
	Mounts       []runtime.Mount
	ReadOnlyRoot bool

	Argv, Env []string
	Dir       string
	// User is user[:group], by number or name; empty means root.
	User string
}

// merge makes of an image's wishes and a container's the process to run, by
// the rules of Kubernetes: a command replaces entrypoint and arguments,
// arguments alone replace arguments only.
func merge(c runtime.ContainerConfig, img image.Config, hostname string) (spec, error) {
	var s spec
	switch {
	case len(c.Command) > 0:
		s.Argv = slices.Concat(c.Command, c.Args)
	case len(c.Args) > 0:
		s.Argv = slices.Concat(img.Entrypoint, c.Args)
	default:
		s.Argv = slices.Concat(img.Entrypoint, img.Cmd)
	}
	if len(s.Argv) == 0 {
		return s, errors.New("neither the container nor its image names a command")
	}
	for _, arg := range slices.Concat(s.Argv, img.Env, c.Env, []string{c.WorkingDir, img.WorkingDir, img.User}) {
		if strings.IndexByte(arg, 0) >= 0 {
			return s, fmt.Errorf("%q has a zero byte in it", arg)
		}
	}
	s.Env = mergeEnv([]string{"PATH=" + defaultPath}, img.Env, []string{"HOSTNAME=" + hostname}, c.Env)
	s.Dir = c.WorkingDir
	if s.Dir == "" {
		s.Dir = img.WorkingDir
	}
	s.Dir = path.Join("/", s.Dir)
	var err error
	s.User, err = mergeUser(c, img.User)
	if err != nil {
		return s, err
	}
	s.ReadOnlyRoot = c.ReadOnlyRoot
	s.Mounts = slices.Clone(c.Mounts)
	for i, m := range s.Mounts {
		target := path.Join("/", m.Target)
		if target == "/" || target == "/proc" || strings.HasPrefix(target, "/proc/") {
			return s, fmt.Errorf("mount at %s: a volume cannot be there", m.Target)
		}
		if !path.IsAbs(m.Source) {
			return s, fmt.Errorf("mount at %s: its source %q is not absolute", m.Target, m.Source)
		}
		s.Mounts[i].Target = target
	}
	// Outer directories first, so that none hides what was mounted in it.
	slices.SortStableFunc(s.Mounts, func(a, b runtime.Mount) int {
		return strings.Count(a.Target, "/") - strings.Count(b.Target, "/")
	})
	return s, nil
}

// mergeEnv joins environments; of several values for a name the last counts,
// at the place of the first.
func mergeEnv(envs ...[]string) []string {
	var merged []string
	at := map[string]int{}
	for _, v := range slices.Concat(envs...) {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			continue
		}
		if i, seen := at[name]; seen {
			merged[i] = v
			continue
		}
		at[name] = len(merged)
		merged = append(merged, v)
	}
	return merged
}

// mergeUser decides who runs, as user[:group], and holds RunAsNonRoot: a name
// in the image could mean root, so it is refused as Kubernetes does.
func mergeUser(c runtime.ContainerConfig, image string) (string, error) {
	for _, id := range []*int64{c.User, c.Group} {
		if id != nil && (*id < 0 || *id > 1<<31-1) {
			return "", fmt.Errorf("%d is not a user or group ID", *id)
		}
	}
	user, group, _ := strings.Cut(image, ":")
	if c.User != nil {
		user, group = strconv.FormatInt(*c.User, 10), ""
	}
	if c.Group != nil {
		group = strconv.FormatInt(*c.Group, 10)
	}
	if c.RunAsNonRoot {
		if id, err := strconv.ParseUint(user, 10, 31); user != "" && err != nil {
			return "", fmt.Errorf("the image's user %q is not a number, so it cannot be known not to be root; set runAsUser", user)
		} else if id == 0 {
			return "", errors.New("the container must not run as root, but it would; set runAsUser")
		}
	}
	if user == "" && group == "" {
		return "", nil
	}
	if user == "" {
		user = "0"
	}
	if group == "" {
		return user, nil
	}
	return user + ":" + group, nil
}
