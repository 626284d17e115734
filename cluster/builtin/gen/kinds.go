package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// notDocuments have metadata but are no documents that anybody applies.
var notDocuments = []string{"Scale", "RangeAllocation"}

// gone are the kinds that are in k8s.io/api no more, but in old manifests.
var gone = []kind{
	{APIVersion: "admissionregistration.k8s.io/v1beta1", Kind: "MutatingWebhookConfiguration", Removed: "1.22", Replacement: "admissionregistration.k8s.io/v1"},
	{APIVersion: "admissionregistration.k8s.io/v1beta1", Kind: "ValidatingWebhookConfiguration", Removed: "1.22", Replacement: "admissionregistration.k8s.io/v1"},
	{APIVersion: "apiextensions.k8s.io/v1beta1", Kind: "CustomResourceDefinition", Removed: "1.22", Replacement: "apiextensions.k8s.io/v1"},
	{APIVersion: "apiregistration.k8s.io/v1beta1", Kind: "APIService", Removed: "1.22", Replacement: "apiregistration.k8s.io/v1"},
	{APIVersion: "autoscaling/v2beta1", Kind: "HorizontalPodAutoscaler", Removed: "1.25", Replacement: "autoscaling/v2"},
	{APIVersion: "autoscaling/v2beta2", Kind: "HorizontalPodAutoscaler", Removed: "1.26", Replacement: "autoscaling/v2"},
	{APIVersion: "batch/v2alpha1", Kind: "CronJob", Removed: "1.21", Replacement: "batch/v1"},
	{APIVersion: "extensions/v1beta1", Kind: "PodSecurityPolicy", Removed: "1.16"},
	{APIVersion: "policy/v1beta1", Kind: "PodSecurityPolicy", Removed: "1.25"},
	{APIVersion: "scheduling.k8s.io/v1alpha1", Kind: "PriorityClass", Removed: "1.22", Replacement: "scheduling.k8s.io/v1"},
	{APIVersion: "settings.k8s.io/v1alpha1", Kind: "PodPreset", Removed: "1.20"},
}

// generate makes the whole file.
func generate() ([]byte, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	g := &generator{sources: src, types: map[string]any{}}
	d := document{types: g.types}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if _, ok := t.FieldByName("ObjectMeta"); !ok || gvk.Version == runtime.APIVersionInternal || slices.Contains(notDocuments, gvk.Kind) {
			continue
		}
		k, err := g.kind(gvk, t)
		if err != nil {
			return nil, err
		}
		d.kinds = append(d.kinds, k)
	}
	for _, own := range []any{CustomResourceDefinition{}, APIService{}} {
		t := reflect.TypeOf(own)
		if err := g.define(t); err != nil {
			return nil, err
		}
		group := map[string]string{"CustomResourceDefinition": "apiextensions.k8s.io/v1", "APIService": "apiregistration.k8s.io/v1"}[t.Name()]
		d.kinds = append(d.kinds, kind{APIVersion: group, Kind: t.Name(), Schema: name(t)})
	}
	for _, k := range gone {
		if !slices.ContainsFunc(d.kinds, func(x kind) bool { return x.APIVersion == k.APIVersion && x.Kind == k.Kind }) {
			d.kinds = append(d.kinds, k)
		}
	}
	slices.SortFunc(d.kinds, func(a, b kind) int { return strings.Compare(a.APIVersion+" "+a.Kind, b.APIVersion+" "+b.Kind) })
	for i := range d.kinds {
		d.kinds[i].Replacement = successor(d.kinds, d.kinds[i])
	}
	return d.encode("k8s.io/api " + src.version)
}

func (g *generator) kind(gvk apischema.GroupVersionKind, t reflect.Type) (kind, error) {
	src, err := g.sources.of(t)
	if err != nil {
		return kind{}, err
	}
	k := kind{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Schema: name(t), Namespaced: !src.types[t.Name()].has("genclient:nonNamespaced")}
	v := reflect.New(t).Interface()
	if x, ok := v.(interface{ APILifecycleDeprecated() (major, minor int) }); ok {
		if release := number(x.APILifecycleDeprecated()); g.sources.past(release) {
			k.Deprecated = release
		}
	}
	if x, ok := v.(interface{ APILifecycleRemoved() (major, minor int) }); ok {
		k.Removed = number(x.APILifecycleRemoved())
	}
	if x, ok := v.(interface {
		APILifecycleReplacement() apischema.GroupVersionKind
	}); ok {
		r := x.APILifecycleReplacement()
		k.Replacement = r.GroupVersion().String() + " " + strings.TrimSuffix(r.Kind, "List")
	}
	if g.sources.past(k.Removed) {
		k.Schema, k.Deprecated = "", ""
		return k, nil
	}
	k.Removed = ""
	if k.Deprecated == "" {
		k.Replacement = ""
	}
	return k, g.define(t)
}

// successor is what to write instead of a kind that is deprecated or gone: an
// apiVersion, and a kind when that is another one. What the sources name may be
// gone itself by now; then it is a newer version of the same kind.
func successor(kinds []kind, k kind) string {
	if k.Deprecated == "" && k.Removed == "" {
		return ""
	}
	apiVersion, name, _ := strings.Cut(k.Replacement, " ")
	if name == "" {
		name = k.Kind
	}
	group, _, _ := strings.Cut(k.APIVersion, "/")
	best := ""
	for _, x := range kinds {
		other, version, _ := strings.Cut(x.APIVersion, "/")
		switch {
		case x.Schema == "" || x.Kind != name || x.Deprecated != "":
		case x.APIVersion == apiVersion:
			best = x.APIVersion
		case apiVersion != "" && other != strings.Split(apiVersion, "/")[0], apiVersion == "" && other != group:
		case best == "" || !strings.ContainsAny(version, "ab"):
			best = x.APIVersion
		}
	}
	if best != "" && name != k.Kind {
		best += " " + name
	}
	return best
}

func number(major, minor int) string {
	if major == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", major, minor)
}

// past reports whether a version of Kubernetes is no later than the one that
// k8s.io/api belongs to.
func (s *sources) past(release string) bool {
	var minor, now int
	if n, _ := fmt.Sscanf(release, "1.%d", &minor); n != 1 {
		return false
	}
	n, _ := fmt.Sscanf(s.version, "v0.%d", &now)
	return n == 1 && minor <= now
}
