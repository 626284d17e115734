package rendertest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
)

// Golden checks that the documents, as YAML, are the content of a file, which
// is relative to the test's working directory. With WRIT_UPDATE=1 it writes the
// file instead.
func (b *Bundle) Golden(file string) {
	b.t.Helper()
	got := b.YAML()
	if os.Getenv(updateVariable) == "1" {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			b.t.Fatalf("write the golden file: %s", err)
		}
		if err := os.WriteFile(file, got, 0o666); err != nil {
			b.t.Fatalf("write the golden file: %s", err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		b.t.Fatalf("there is no %s; write it with %s=1, and read it before you commit it", file, updateVariable)
	} else if err != nil {
		b.t.Fatalf("read the golden file: %s", err)
	}
	if text := diff.Diff(file, want, "now", got); len(text) > 0 {
		b.t.Errorf("the documents are not those of %s; where that is meant, write it again with %s=1\n%s", file, updateVariable, text)
	}
}
