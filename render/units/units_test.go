package units_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/cache"
	"github.com/writ-dev/writ/render/check"
	"github.com/writ-dev/writ/render/units"
)

// counting counts what reaches a front end.
type counting struct {
	lang.Evaluator
	n *int
}

func (c counting) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	*c.n++
	return c.Evaluator.Eval(ctx, p)
}

const (
	good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
	bad  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate: {k: v}\n"
	odd  = "apiVersion: example.com/v1\nkind: Odd\nmetadata: {name: a}\n"
)

func TestRenderThroughTheCache(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c, err := cache.Open(store, "build")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	evaluators := map[render.Language]lang.Evaluator{}
	for l, e := range render.FrontEnds() {
		evaluators[l] = counting{e, &asked}
	}
	// run renders through the cache and without it, and compares.
	run := func(o render.Options) int {
		t.Helper()
		o.FS = root.FS()
		want, wantErr := render.Render(t.Context(), o)
		session := c.Session(dir, o.FS, nil)
		defer session.Close()
		r := units.New(session)
		before := asked
		o.Evaluators = evaluators
		got, err := r.Render(t.Context(), o)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("through the cache %v, without %v", err, wantErr)
		}
		if err != nil {
			return asked - before
		}
		if got.Digest != want.Digest || !bytes.Equal(got.JSONLines(), want.JSONLines()) || !slices.Equal(got.Reads, want.Reads) {
			t.Errorf("through the cache %s\n%v\nwithout %s\n%v", got.JSONLines(), got.Reads, want.JSONLines(), want.Reads)
		}
		_, wantErr = check.Bundle(t.Context(), want, check.Options{})
		_, err = check.Bundle(t.Context(), got, check.Options{Known: r.Judgements()})
		if text(err) != text(wantErr) {
			t.Errorf("judged %q, want %q", text(err), text(wantErr))
		}
		return asked - before
	}
	expect := func(what string, o render.Options, want int) {
		t.Helper()
		if n := run(o); n != want {
			t.Errorf("%s: evaluated %d times, want %d", what, n, want)
		}
	}
	app := render.Options{Entry: "app"}
	write("app/a.yaml", good)
	expect("first", app, 1)
	expect("again", app, 0)
	expect("another namespace", render.Options{Entry: "app", Namespace: "other"}, 1)
	write("app/a.yaml", bad)
	expect("a mistake", app, 1)
	expect("a mistake again", app, 0)
	write("app/a.yaml", odd)
	expect("a kind that is not served", app, 1)
	expect("a kind that is not served, again", app, 0)
	write("app/b.yaml", good)
	expect("a file more", app, 1)
	write("app/main.jsonnet", `{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'j' } }`)
	expect("another language", app, 1)
	write("app/a.cue", "package app\n")
	expect("two languages", app, 0)
	for _, name := range []string{"app/main.jsonnet", "app/a.cue"} {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	expect("as it was before", app, 1)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
