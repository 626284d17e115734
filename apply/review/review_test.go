package review_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/writ-dev/writ/apply/review"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render"
)

func bundle(t testing.TB, docs ...string) *render.Bundle {
	t.Helper()
	var objects []object.Object
	for _, d := range docs {
		o, err := object.Parse([]byte(d))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	return render.FromObjects(objects)
}

func deployment(name string, replicas int) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"namespace":"shop"},"spec":{"replicas":%d}}`, name, replicas)
}

func many(replicas int) []string {
	var docs []string
	for i := range 412 {
		docs = append(docs, deployment(fmt.Sprintf("web-%03d", i), replicas))
	}
	return docs
}

func compare(t testing.TB, pairs ...review.Pair) *review.Review {
	t.Helper()
	r, err := review.Compare("main", "change", pairs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const dependency = `{"apiVersion":"writ.dev/v1alpha1","kind":"Dependency","metadata":{"name":"web-ledger","namespace":"shop"},"spec":{"consumer":{"kind":"Deployment","name":"web"},"target":{"service":{"namespace":"payments","name":"ledger","ports":["5432"]}}}}`

func TestGroups(t *testing.T) {
	r := compare(t,
		review.Pair{Environment: "dev", Old: bundle(t, many(2)...), New: bundle(t, append(many(3), dependency)...)},
		review.Pair{Environment: "prod", Old: bundle(t, deployment("web", 2), deployment("old", 1)), New: bundle(t, deployment("web", 3))},
		review.Pair{Environment: "new", New: bundle(t, deployment("old", 1))},
	)
	if len(r.Groups) != 4 || len(r.Groups[0].Objects) != 413 || r.Groups[0].Changes[0].Path != ".spec.replicas" {
		t.Fatalf("%d groups, the first of %d objects: %+v", len(r.Groups), len(r.Groups[0].Objects), r.Groups[0].Changes)
	}
	text, whole := r.Markdown(review.MaxComment)
	for _, want := range []string{
		"### writ: 2 added, 413 changed, 1 removed",
		"| `new` (only in head) | 1 | 1 | 0 | 0 |",
		"+ dev: shop/Deployment/web may now reach payments/ledger:5432",
		"same change in 413 objects of kind Deployment.apps",
		"- .spec.replicas: 2\n+ .spec.replicas: 3\n",
		"and 393 more",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the comment lacks %q:\n%s", want, text)
		}
	}
	if !whole {
		t.Error("the comment says that something is missing")
	}
	for _, write := range []func() (string, error){
		func() (string, error) { var b bytes.Buffer; err := r.Text(&b, true); return b.String(), err },
		func() (string, error) { var b bytes.Buffer; err := r.HTML(&b); return b.String(), err },
		func() (string, error) { b, err := json.Marshal(r); return string(b), err },
	} {
		text, err := write()
		if err != nil || !strings.Contains(text, "web-411") && !strings.Contains(text, "more") || !strings.Contains(text, "ledger:5432") {
			t.Errorf("%v: %.300s", err, text)
		}
	}
	if !compare(t, review.Pair{Old: bundle(t, many(2)...), New: bundle(t, many(2)...)}).Empty() {
		t.Error("equal bundles differ")
	}
}

// TestBounded: however much differs, the comment fits, and says what it leaves
// out.
func TestBounded(t *testing.T) {
	var docs []string
	for i := range 500 {
		docs = append(docs, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d"},"data":{"ä":%q}}`, i, strings.Repeat(fmt.Sprintf("ü%d ", i), 400)))
	}
	r := compare(t, review.Pair{New: bundle(t, docs...)})
	for _, limit := range []int{1000, 5000, review.MaxComment} {
		text, whole := r.Markdown(limit)
		if n := utf8.RuneCountInString(text); n > limit || whole {
			t.Errorf("%d characters with a limit of %d, whole %t", n, limit, whole)
		}
		if !strings.Contains(text, "are not shown here; they are in the attachment") || strings.Count(text, "<details") != strings.Count(text, "</details>") {
			t.Errorf("a limit of %d gives\n%s", limit, text[max(0, len(text)-300):])
		}
	}
	if text, whole := r.Markdown(0); !whole || strings.Count(text, "<details") != 500 {
		t.Errorf("without a limit: %d differences, whole %t", strings.Count(text, "<details"), whole)
	}
}

// TestHostile: what documents hold is data, in every form.
func TestHostile(t *testing.T) {
	evil := "x\\u0060\\u0060\\u0060\\n</details><script>alert(1)</script> @everyone \\u001b[2J\\u202e"
	doc := func(v string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"</code><b>":"` + v + `"}}`
	}
	r, err := review.Compare("main`|<b>", "head", []review.Pair{{Environment: "<img src=x>|", Old: bundle(t, doc("a")), New: bundle(t, doc(evil))}})
	if err != nil {
		t.Fatal(err)
	}
	comment, _ := r.Markdown(0)
	if strings.Contains(comment, "\n</details><script>") || strings.Contains(comment, "\x1b") || strings.Contains(comment, "\u202e") || !strings.Contains(comment, "````diff") {
		t.Errorf("comment:\n%s", comment)
	}
	var page, text bytes.Buffer
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script>alert") || strings.Contains(page.String(), "<img src=x>") {
		t.Errorf("page:\n%s", &page)
	}
	if err := r.Text(&text, false); err != nil || strings.ContainsAny(text.String(), "\x1b\u202e") {
		t.Errorf("text (%v): %q", err, &text)
	}
}

// TestSecrets: no form of a review holds a value of a Secret.
func TestSecrets(t *testing.T) {
	s := func(name, v string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q,"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q}},"stringData":{"password":%q}}`, name, v, v)
	}
	r := compare(t, review.Pair{
		Old: bundle(t, s("changed", "taint-old"), s("removed", "taint-removed")),
		New: bundle(t, s("changed", "taint-new"), s("added", "taint-added")),
	})
	if len(r.Groups) != 3 {
		t.Fatalf("%d groups", len(r.Groups))
	}
	comment, _ := r.Markdown(0)
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var page, text bytes.Buffer
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := r.Text(&text, true); err != nil {
		t.Fatal(err)
	}
	for form, out := range map[string]string{"comment": comment, "JSON": string(encoded), "page": page.String(), "text": text.String()} {
		if strings.Contains(out, "taint") || strings.Contains(out, "dGFpbnQ") {
			t.Errorf("%s holds a secret value:\n%s", form, out)
		}
		if !strings.Contains(out, "digest:") {
			t.Errorf("%s does not show that a value changed:\n%s", form, out)
		}
	}
}
