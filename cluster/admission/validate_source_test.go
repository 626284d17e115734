package admission

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/cluster/object"
)

func TestSourceRefused(t *testing.T) {
	for spec, want := range map[string]string{
		`{}`:                                                                  ".spec.repo",
		`{repo: "http://h/a"}`:                                                "not a repository's URL that is read",
		`{repo: "ext::sh -c x"}`:                                              "", // git's own words for it are for what reads it
		`{repo: "https://tok@h/a"}`:                                           "credentials",
		`{repo: "https://u:p@h/a"}`:                                           "credentials",
		`{repo: "-x:y"}`:                                                      "not a repository's URL",
		`{repo: "/srv/a"}`:                                                    "not a repository's URL",
		`{repo: "https://h/a", ref: "-x"}`:                                    ".spec.ref",
		`{repo: "https://h/a", path: ../x}`:                                   "outside of the repository",
		`{repo: "https://h/a", path: /etc}`:                                   "outside of the repository",
		`{repo: "https://h/a", interval: soon}`:                               "not a duration",
		`{repo: "https://h/a", interval: 1s}`:                                 "at least 5s",
		`{repo: "https://h/a", drift: ignore}`:                                ".spec.drift",
		`{repo: "https://h/a", gates: {openAccess: never}}`:                   ".spec.gates.openAccess",
		`{repo: "https://h/a", gates: {maxDeletes: -1}}`:                      ".spec.gates.maxDeletes",
		`{repo: "https://h/a", verify: {}}`:                                   ".spec.verify",
		`{repo: "https://h/a", webhook: {secretRef: {}}}`:                     ".spec.webhook.secretRef.name",
		`{repo: "git@h:a", ref: main, path: ., interval: 5s, prune: false}`:   "",
		`{repo: "ssh://git@h/a", secretRef: {name: key}, drift: report}`:      "",
		`{repo: "file:///srv/a.git", gates: {openAccess: approve}, path: ""}`: "",
	} {
		s := fromYAML(t, "apiVersion: writ.dev/v1alpha1\nkind: Source\nmetadata: {name: a, namespace: b}\nspec: "+spec)
		d, err := Default(s.kind, s.object)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range append(Strict(s.kind, d), Validate(s.kind, d, object.Object{})...) {
			got = append(got, p.String())
		}
		all := strings.Join(got, "; ")
		if (want == "") != (all == "") || !strings.Contains(all, want) {
			t.Errorf("%s: got %q, want %q", spec, all, want)
		}
	}
}
