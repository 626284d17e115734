package admission

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

// volumes returns the volumes by name.
func (p *problems) volumes(at string, volumes []corev1.Volume) map[string]*corev1.Volume {
	names := map[string]*corev1.Volume{}
	for i, v := range volumes {
		path := api.IndexPath(at, i)
		switch {
		case v.Name == "":
			p.required(path+".name", "")
		case names[v.Name] != nil:
			p.duplicate(path+".name", v.Name)
		default:
			p.check(path+".name", v.Name, validation.IsDNS1123Label(v.Name))
		}
		names[v.Name] = &volumes[i]
		set := 0
		if v.EmptyDir != nil {
			set++
			if l := v.EmptyDir.SizeLimit; l != nil && l.Sign() < 0 {
				p.invalid(path+".emptyDir.sizeLimit", "must not be negative")
			}
		}
		if c := v.ConfigMap; c != nil {
			set++
			p.source(path+".configMap", "name", c.Name, c.Items, c.DefaultMode)
		}
		if s := v.Secret; s != nil {
			set++
			p.source(path+".secret", "secretName", s.SecretName, s.Items, s.DefaultMode)
		}
		if set > 1 {
			p.invalid(path, "must have exactly one source, not %d", set)
		}
	}
	return names
}

func (p *problems) source(at, field, name string, items []corev1.KeyToPath, mode *int32) {
	if name == "" {
		p.required(at+"."+field, "")
	} else {
		p.check(at+"."+field, name, validation.IsDNS1123Subdomain(name))
	}
	p.mode(at+".defaultMode", mode)
	paths := map[string]bool{}
	for i, item := range items {
		path := api.IndexPath(at+".items", i)
		if item.Key == "" {
			p.required(path+".key", "")
		}
		p.mode(path+".mode", item.Mode)
		switch {
		case item.Path == "":
			p.required(path+".path", "")
		case !inside(item.Path):
			p.invalid(path+".path", "%q must stay inside the volume", item.Path)
		case paths[item.Path]:
			p.duplicate(path+".path", item.Path)
		}
		paths[item.Path] = true
	}
}

func (p *problems) mode(at string, mode *int32) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		p.add(api.CodeInvalid, at, "use 0 to 511, that is 0000 to 0777 in octal", "%d is not a file mode", *mode)
	}
}

func (p *problems) mounts(at string, mounts []corev1.VolumeMount, volumes map[string]*corev1.Volume) {
	seen := map[string]bool{}
	for i, m := range mounts {
		path := api.IndexPath(at, i)
		if m.Name == "" {
			p.required(path+".name", "")
		} else if volumes[m.Name] == nil {
			hint := "add it to the pod's volumes"
			if near := api.Nearest(m.Name, slices.DeleteFunc(sortedKeys(volumes), func(n string) bool { return n == "" })); near != "" {
				hint = api.DidYouMean(near)
			}
			p.add(api.CodeNotFound, path+".name", hint, "the pod has no volume named %q", m.Name)
		}
		switch {
		case m.MountPath == "":
			p.required(path+".mountPath", "")
		case !strings.HasPrefix(m.MountPath, "/") || strings.ContainsAny(m.MountPath, ":\x00"):
			p.invalid(path+".mountPath", "must be an absolute path without a colon, not %q", m.MountPath)
		case seen[clean(m.MountPath)]:
			p.duplicate(path+".mountPath", m.MountPath)
		}
		seen[clean(m.MountPath)] = true
		switch v := volumes[m.Name]; {
		case m.SubPath == "":
		case !inside(m.SubPath):
			p.invalid(path+".subPath", "%q must stay inside the volume", m.SubPath)
		case v != nil && v.EmptyDir != nil:
			p.add(api.CodeUnsupported, path+".subPath", "mount the whole volume, or use two", "not supported by Writ yet: subPath of an emptyDir")
		}
	}
}

func clean(p string) string { return path.Clean("/" + p) }

// inside reports whether a relative path cannot lead out of its root.
func inside(p string) bool {
	return !strings.HasPrefix(p, "/") && !slices.Contains(strings.Split(p, "/"), "..") && !strings.Contains(p, "\x00")
}
