package why

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// shortNames are those of Kubernetes for the kinds that Writ does not serve.
var shortNames = map[string]string{
	"ds": "DaemonSet", "sts": "StatefulSet", "cj": "CronJob", "rc": "ReplicationController",
	"ing": "Ingress", "netpol": "NetworkPolicy", "hpa": "HorizontalPodAutoscaler",
	"pdb": "PodDisruptionBudget", "pv": "PersistentVolume", "pvc": "PersistentVolumeClaim",
	"sc": "StorageClass", "pc": "PriorityClass", "quota": "ResourceQuota", "limits": "LimitRange",
	"crd": "CustomResourceDefinition", "crds": "CustomResourceDefinition",
}

// kinds are the words for the kinds of custom resources, by kind.
type kinds map[string][]string

// kindsOf reads the words in the CustomResourceDefinitions of renderings.
func kindsOf(all []Rendering) kinds {
	words := kinds{}
	for _, r := range all {
		for _, d := range r.Bundle.Documents {
			if d.Object.Kind() != "CustomResourceDefinition" {
				continue
			}
			v := d.Origin.Value()
			kind, _ := v.At(".spec.names.kind")
			for _, at := range []string{".spec.names.plural", ".spec.names.singular"} {
				if w, ok := v.At(at); ok {
					words[kind.Text] = append(words[kind.Text], w.Text)
				}
			}
			names, _ := v.At(".spec.names.shortNames")
			for _, w := range names.Items {
				words[kind.Text] = append(words[kind.Text], w.Text)
			}
		}
	}
	return words
}

// match reports whether a word, perhaps with a group, means the kind of o.
func (w kinds) match(word string, o object.Object) bool {
	word, group, grouped := strings.Cut(strings.ToLower(word), ".")
	if grouped && group != o.Group() && group != o.APIVersion() {
		return false
	}
	kind := strings.ToLower(o.Kind())
	if slices.Contains([]string{kind, kind + "s", kind + "es", strings.TrimSuffix(kind, "y") + "ies"}, word) {
		return true
	}
	if k, ok := api.Lookup(o.Group(), o.Kind()); ok {
		return word == k.Resource || word == k.Singular || slices.Contains(k.ShortNames, word)
	}
	return shortNames[word] == o.Kind() || slices.Contains(w[o.Kind()], word)
}
