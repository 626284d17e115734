package pod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// dataLink is the name of the link to a volume's files. Files are reached
// through it, so that all of them appear at once.
const dataLink = "..data"

// defaultFileMode is that of files whose volume gives none.
const defaultFileMode = 0o644

// configData returns the contents of a ConfigMap, nothing if it is optional
// and absent.
func (w *Worker) configData(ctx context.Context, name string, optional bool) (map[string]string, error) {
	c, err := w.o.ConfigMap(ctx, name)
	if apierrors.IsNotFound(err) && optional {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get configmap %s: %w", name, err)
	}
	data := maps.Clone(c.Data)
	if data == nil {
		data = map[string]string{}
	}
	for k, v := range c.BinaryData {
		data[k] = string(v)
	}
	return data, nil
}

// secretData is configData for a Secret.
func (w *Worker) secretData(ctx context.Context, name string, optional bool) (map[string]string, error) {
	s, err := w.o.Secret(ctx, name)
	if apierrors.IsNotFound(err) && optional {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get secret %s: %w", name, err)
	}
	data := make(map[string]string, len(s.Data))
	for k, v := range s.Data {
		data[k] = string(v)
	}
	maps.Copy(data, s.StringData)
	return data, nil
}

// mounts makes the volumes that a container uses and says where they go.
func (w *Worker) mounts(ctx context.Context, spec *corev1.Container) ([]runtime.Mount, error) {
	// Containers start side by side and may share a volume.
	w.volumes.Lock()
	defer w.volumes.Unlock()
	var list []runtime.Mount
	for _, m := range spec.VolumeMounts {
		v := w.volume(m.Name)
		if v == nil {
			return nil, fmt.Errorf("volume %q is not defined", m.Name)
		}
		source, err := w.makeVolume(ctx, v)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", m.Name, err)
		}
		readOnly := m.ReadOnly || v.EmptyDir == nil
		if m.SubPath != "" {
			if v.EmptyDir != nil {
				return nil, fmt.Errorf("volume %s: subPath is supported for configMap and secret volumes only", m.Name)
			}
			if source, err = subPath(source, m.SubPath); err != nil {
				return nil, fmt.Errorf("volume %s: subPath %s: %w", m.Name, m.SubPath, err)
			}
		}
		list = append(list, runtime.Mount{Source: source, Target: m.MountPath, ReadOnly: readOnly})
	}
	return list, nil
}

func (w *Worker) volume(name string) *corev1.Volume {
	for i := range w.pod.Spec.Volumes {
		if v := &w.pod.Spec.Volumes[i]; v.Name == name {
			return v
		}
	}
	return nil
}

// makeVolume makes a volume's directory, unless another container has.
func (w *Worker) makeVolume(ctx context.Context, v *corev1.Volume) (string, error) {
	dir := filepath.Join(w.dir(), "volumes", v.Name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	var data map[string]string
	var items []corev1.KeyToPath
	var mode *int32
	var err error
	switch {
	case v.EmptyDir != nil:
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return "", err
		}
		// Against the umask: any user of the container may write.
		return dir, os.Chmod(dir, 0o777)
	case v.ConfigMap != nil:
		s := v.ConfigMap
		items, mode = s.Items, s.DefaultMode
		data, err = w.configData(ctx, s.Name, optional(s.Optional))
	case v.Secret != nil:
		s := v.Secret
		items, mode = s.Items, s.DefaultMode
		data, err = w.secretData(ctx, s.SecretName, optional(s.Optional))
	default:
		return "", errors.New("this kind of volume is not supported")
	}
	if err != nil {
		return "", err
	}
	files, err := project(data, items, mode)
	if err != nil {
		return "", err
	}
	return dir, publish(dir, files)
}

// file is one file of a volume.
type file struct {
	path, data string
	mode       fs.FileMode
}

// project chooses the files: all keys, or the items.
func project(data map[string]string, items []corev1.KeyToPath, mode *int32) ([]file, error) {
	normal := fs.FileMode(defaultFileMode)
	if mode != nil {
		normal = fs.FileMode(*mode) & 0o777
	}
	if len(items) == 0 {
		for _, k := range sortedKeys(data) {
			items = append(items, corev1.KeyToPath{Key: k, Path: k})
		}
	}
	var files []file
	for _, it := range items {
		v, ok := data[it.Key]
		if !ok {
			if data == nil {
				continue // The whole source is optional and absent.
			}
			return nil, fmt.Errorf("key %q does not exist", it.Key)
		}
		if !filepath.IsLocal(it.Path) {
			return nil, fmt.Errorf("path %q leaves the volume", it.Path)
		}
		f := file{path: it.Path, data: v, mode: normal}
		if it.Mode != nil {
			f.mode = fs.FileMode(*it.Mode) & 0o777
		}
		files = append(files, f)
	}
	return files, nil
}

// publish writes the files so that they appear at once: into a hidden
// directory that dataLink then names, and beside it a link per top-level name.
// The directory itself appears last.
func publish(dir string, files []file) error {
	build := dir + ".new"
	if err := os.RemoveAll(build); err != nil {
		return err
	}
	const hidden = "..files"
	if err := os.MkdirAll(filepath.Join(build, hidden), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(hidden, filepath.Join(build, dataLink)); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(build, hidden, f.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.data), f.mode); err != nil {
			return err
		}
		if err := os.Chmod(path, f.mode); err != nil {
			return err
		}
		top := firstElement(f.path)
		err := os.Symlink(filepath.Join(dataLink, top), filepath.Join(build, top))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return os.Rename(build, dir)
}

func firstElement(path string) string {
	path = filepath.Clean(path)
	for {
		parent := filepath.Dir(path)
		if parent == "." {
			return path
		}
		path = parent
	}
}

// subPath finds a path inside a volume of files that the agent wrote and
// nobody can change. In a writable volume another container could replace the
// path by a link to a place outside between here and the mount.
func subPath(volume, sub string) (string, error) {
	if !filepath.IsLocal(sub) {
		return "", errors.New("leaves the volume")
	}
	return filepath.EvalSymlinks(filepath.Join(volume, sub))
}
