package apply_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-dev/writ/apply"
)

func TestRollouts(t *testing.T) {
	w := newWorld(t)
	requests := `,"resources":{"requests":{"cpu":"500m","memory":"64Mi"}}`
	env := `,"envFrom":[{"configMapRef":{"name":"settings"}}]` + requests
	w.apply(bundle(t, configMap("settings", "k", "1"), deployment("web", "web:1", requests), deployment("api", "api:1", env), deployment("old", "old:1", "")))
	more := strings.Replace(deployment("api", "api:1", env), `"replicas":2`, `"replicas":3`, 1)
	p := w.plan(bundle(t, configMap("settings", "k", "2"), deployment("web", "web:2", requests), more, deployment("new", "new:1", "")))
	var got []string
	for _, r := range p.Rollouts {
		got = append(got, fmt.Sprintf("%s +%d -%d %s", r.Key.Name, r.Starts, r.Stops, r.Path))
	}
	want := "api +1 -0 \nnew +2 -0 \nweb +2 -2 .spec.template.spec.containers[name=main].image\nold +0 -2 "
	if strings.Join(got, "\n") != want {
		t.Errorf("rollouts are\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if len(p.Capacity) != 2 || p.Capacity[0] != (apply.Capacity{Resource: "cpu", Before: "2", After: "2500m"}) {
		t.Errorf("capacity is %+v", p.Capacity)
	}
	if len(p.Warnings) != 1 || p.Warnings[0] != "ConfigMap default/settings is read as environment by Deployment.apps default/api: running pods keep the old values until they restart" {
		t.Errorf("warnings are %q", p.Warnings)
	}
	var out bytes.Buffer
	if err := p.Print(&out, true); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Deployment.apps default/web: 2 are replaced by 2, for .spec.template.spec.containers[name=main].image", "Deployment.apps default/old: 2 stop", "cpu asked for: 2 -> 2500m"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("printed plan lacks %q:\n%s", line, &out)
		}
	}
}

// TestAlike: what happens to many objects alike is shown once.
func TestAlike(t *testing.T) {
	w := newWorld(t)
	many := func(v string) (docs []string) {
		for i := range 9 {
			docs = append(docs, configMap(fmt.Sprintf("c%d", i), "k", v))
		}
		return docs
	}
	one := configMap("other", "k", "1")
	w.apply(bundle(t, append(many("1"), one)...))
	var out bytes.Buffer
	p := w.plan(bundle(t, append(many("2"), configMap("other", "k", "3"))...))
	if err := p.Print(&out, false); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Count(text, ".data.k: 1 -> 2") != 1 || !strings.Contains(text, "the same in 8 more: ConfigMap default/c1, ConfigMap default/c2, ConfigMap default/c3 and 5 more") || !strings.Contains(text, ".data.k: 1 -> 3") {
		t.Errorf("printed:\n%s", text)
	}
}

// TestLost: a replacement says what it loses.
func TestLost(t *testing.T) {
	w := newWorld(t)
	w.apply(bundle(t, deployment("web", "web:1", "")))
	p := w.plan(bundle(t, strings.ReplaceAll(deployment("web", "web:1", ""), `"app":"web"`, `"app":"other"`)))
	if got := strings.Join(p.Objects[0].Lost, ", "); got != "its UID, its status, its rollout history" {
		t.Errorf("lost: %s", got)
	}
	if len(p.Rollouts) != 1 || p.Rollouts[0].Stops != 2 || !strings.HasPrefix(p.Rollouts[0].Path, ".spec.selector") {
		t.Errorf("rollouts: %+v", p.Rollouts)
	}
}
