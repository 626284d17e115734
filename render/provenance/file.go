package provenance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/writ-dev/writ/lang"
)

var errDamaged = errors.New("is damaged")

// maxFile bounds a record, in bytes.
const maxFile = 1 << 30

// Encode is the record as it is in a file.
func (r *Record) Encode() ([]byte, error) {
	var b bytes.Buffer
	// What is long has a line for each; all together is one JSON value.
	b.WriteString("{")
	err := errors.Join(
		member(&b, "version", r.Version), member(&b, "environment", r.Environment), member(&b, "digest", r.Digest),
		member(&b, "files", r.Files), member(&b, "units", r.Units),
		lines(&b, "steps", r.Steps), lines(&b, "values", r.Values), lines(&b, "documents", r.Documents),
	)
	b.WriteString("}\n")
	return b.Bytes(), err
}

func member(b *bytes.Buffer, name string, v any) error {
	text, err := json.Marshal(v)
	if b.Len() > 1 {
		b.WriteString(",\n ")
	}
	fmt.Fprintf(b, "%q:%s", name, text)
	return err
}

func lines[T any](b *bytes.Buffer, name string, all []T) error {
	fmt.Fprintf(b, ",\n %q:[", name)
	for i, v := range all {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(text)
	}
	b.WriteString("\n]")
	return nil
}

// Write writes the record into the directory of its documents, whole or not at
// all.
func (r *Record) Write(dir string) error {
	b, err := r.Encode()
	if err != nil {
		return fmt.Errorf("encode the provenance: %w", err)
	}
	f, err := os.CreateTemp(dir, File+".*")
	if err != nil {
		return fmt.Errorf("write the provenance: %w", err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, File))
	}
	if err != nil {
		return fmt.Errorf("write the provenance: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// Remove removes the record of a directory, if there is one: what it is of is
// written anew without.
func Remove(dir string) error {
	if err := os.Remove(filepath.Join(dir, File)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the provenance of what was there before: %w", err)
	}
	return nil
}

// Parse reads what Encode wrote. Whatever the input, it is a record whose numbers
// are of something, or an error.
func Parse(b []byte) (*Record, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if head.Version != version {
		return nil, fmt.Errorf("has format %d, and this Writ reads %d", head.Version, version)
	}
	r := new(Record)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	for _, s := range r.Steps {
		if len(s.Pos) > 0 && !r.is(s.Pos) {
			return nil, errDamaged
		}
	}
	for _, d := range r.Documents {
		if d.Unit < 0 || d.Unit >= len(r.Units) || len(d.At) == 0 {
			return nil, errDamaged
		}
		for _, p := range d.At {
			if len(p) > 0 && (!r.is(p[:3]) || len(p) > 3 && !r.is(p[3:])) {
				return nil, errDamaged
			}
		}
		for _, w := range d.Why {
			if !r.isChain(w) {
				return nil, errDamaged
			}
		}
	}
	return r, nil
}

// is reports whether a position is one.
func (r *Record) is(p place) bool {
	return len(p) == 3 && p[0] >= 0 && p[0] < len(r.Files) && p[1] >= 0 && p[2] >= 0
}

func (r *Record) isChain(w []int) bool {
	if len(w)%3 != 0 {
		return false
	}
	for i := 0; i < len(w); i += 3 {
		if w[i] < 0 || w[i] >= len(r.Steps) || w[i+1] < 0 || w[i+1] > lang.MaxExplainSteps || w[i+2] < 0 || w[i+2] > len(r.Values) {
			return false
		}
	}
	return true
}

func read(path string) (*Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("is larger than %d MiB", maxFile>>20)
	}
	return Parse(b)
}
