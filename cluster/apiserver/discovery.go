package apiserver

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// aggregatedType is the Content-Type of aggregated discovery. Clients decide
// by it which of the two forms they were sent, so it must be exact.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// discovery holds the documents that say what is served. They never change.
type discovery struct {
	// documents by path, and the aggregated forms of /api and /apis.
	documents            map[string][]byte
	coreAll, groupsAll   []byte
	coreETag, groupsETag string
	groupOrder           []string
	// versions by group; resources by group and version, as in apiVersion.
	versions    map[string][]string
	resourcesOf map[string][]apidiscoveryv2.APIResourceDiscovery
	legacyOf    map[string][]metav1.APIResource
}

var (
	readVerbs  = []string{"get", "list", "watch"}
	allVerbs   = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	subVerbs   = []string{"get", "patch", "update"}
	createVerb = []string{"create"}
)

// connectKinds are the kinds of options of connections, as Kubernetes names them.
var connectKinds = map[string]string{subAttach: "PodAttachOptions", subExec: "PodExecOptions", subPortForward: "PodPortForwardOptions"}

func newDiscovery(kinds []api.Kind) (*discovery, error) {
	d := &discovery{documents: map[string][]byte{}, versions: map[string][]string{}, resourcesOf: map[string][]apidiscoveryv2.APIResourceDiscovery{}, legacyOf: map[string][]metav1.APIResource{}}
	for _, k := range kinds {
		d.addKind(k)
	}
	for _, id := range slices.Sorted(maps.Keys(virtuals)) {
		p := strings.Split(id, "/")
		d.addVirtual(p[0], p[1], p[2], virtuals[id])
	}
	return d, d.encode()
}

func (d *discovery) group(group, of string) {
	if _, ok := d.versions[group]; !ok {
		d.groupOrder = append(d.groupOrder, group)
	}
	if !slices.Contains(d.versions[group], of) {
		d.versions[group] = append(d.versions[group], of)
	}
}

func (d *discovery) addKind(k api.Kind) {
	d.group(k.Group, k.Version)
	gv := k.APIVersion()
	verbs := allVerbs
	if k.System {
		verbs = readVerbs
	}
	scope := apidiscoveryv2.ScopeCluster
	if k.Namespaced {
		scope = apidiscoveryv2.ScopeNamespace
	}
	own := metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
	r := apidiscoveryv2.APIResourceDiscovery{Resource: k.Resource, ResponseKind: &own, Scope: scope, SingularResource: k.Singular, Verbs: verbs, ShortNames: k.ShortNames, Categories: k.Categories}
	legacy := []metav1.APIResource{{Name: k.Resource, SingularName: k.Singular, Namespaced: k.Namespaced, Kind: k.Kind, Verbs: verbs, ShortNames: k.ShortNames, Categories: k.Categories}}
	sub := func(name string, kind metav1.GroupVersionKind, verbs []string) {
		r.Subresources = append(r.Subresources, apidiscoveryv2.APISubresourceDiscovery{Subresource: name, ResponseKind: &kind, Verbs: verbs})
		l := metav1.APIResource{Name: k.Resource + "/" + name, Namespaced: k.Namespaced, Kind: kind.Kind, Verbs: verbs}
		if kind.Group != k.Group || kind.Version != k.Version {
			l.Group, l.Version = kind.Group, kind.Version
		}
		legacy = append(legacy, l)
	}
	if k.Status && !k.System {
		sub("status", own, subVerbs)
	}
	if k.Scale {
		sub("scale", metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, subVerbs)
	}
	if k.GVK() == api.Pod.GVK() {
		sub("binding", metav1.GroupVersionKind{Version: "v1", Kind: "Binding"}, createVerb)
		sub("log", own, []string{"get"})
		sub("eviction", metav1.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, createVerb)
		for _, name := range []string{subAttach, subExec, subPortForward} {
			sub(name, metav1.GroupVersionKind{Version: "v1", Kind: connectKinds[name]}, []string{"create", "get"})
		}
	}
	if k.GVK() == api.ServiceAccount.GVK() {
		sub("token", metav1.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}, createVerb)
	}
	if k.GVK() == api.Node.GVK() {
		sub("access", metav1.GroupVersionKind{Group: api.Group, Version: api.Version, Kind: "AccessReport"}, []string{"get"})
	}
	d.resourcesOf[gv] = append(d.resourcesOf[gv], r)
	d.legacyOf[gv] = append(d.legacyOf[gv], legacy...)
}

func (d *discovery) addVirtual(group, of, resource string, v virtualResource) {
	d.group(group, of)
	gv := schema.GroupVersion{Group: group, Version: of}.String()
	own := metav1.GroupVersionKind{Group: group, Version: of, Kind: v.kind}
	scope := apidiscoveryv2.ScopeCluster
	if v.namespaced {
		scope = apidiscoveryv2.ScopeNamespace
	}
	d.resourcesOf[gv] = append(d.resourcesOf[gv], apidiscoveryv2.APIResourceDiscovery{Resource: resource, ResponseKind: &own, Scope: scope, SingularResource: v.singular, Verbs: createVerb})
	d.legacyOf[gv] = append(d.legacyOf[gv], metav1.APIResource{Name: resource, SingularName: v.singular, Kind: v.kind, Namespaced: v.namespaced, Verbs: createVerb})
}

func (d *discovery) encode() error {
	meta := metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}
	core, groups := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: meta}, apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: meta}
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	put := func(path string, v any) error {
		b, err := object.Marshal(v)
		d.documents[path] = b
		return err
	}
	for _, g := range d.groupOrder {
		// The version that is preferred comes first.
		slices.SortFunc(d.versions[g], func(a, b string) int { return -version.CompareKubeAwareVersionStrings(a, b) })
		all := apidiscoveryv2.APIGroupDiscovery{}
		all.Name = g
		group := metav1.APIGroup{Name: g}
		for _, v := range d.versions[g] {
			gv := schema.GroupVersion{Group: g, Version: v}.String()
			all.Versions = append(all.Versions, apidiscoveryv2.APIVersionDiscovery{Version: v, Resources: d.resourcesOf[gv], Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent})
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: v})
			path := "/apis/" + gv
			if g == "" {
				path = "/api/" + v
			}
			if err := put(path, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv, APIResources: d.legacyOf[gv]}); err != nil {
				return err
			}
		}
		if g == "" {
			core.Items = append(core.Items, all)
			continue
		}
		groups.Items = append(groups.Items, all)
		group.PreferredVersion = group.Versions[0]
		list.Groups = append(list.Groups, group)
		group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		if err := put("/apis/"+g, group); err != nil {
			return err
		}
	}
	versions := metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}, ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{}}
	if err := put("/api", versions); err != nil {
		return err
	}
	if err := put("/apis", list); err != nil {
		return err
	}
	var err error
	if d.coreAll, err = object.Marshal(core); err != nil {
		return err
	}
	d.groupsAll, err = object.Marshal(groups)
	d.coreETag, d.groupsETag = etag(d.coreAll), etag(d.groupsAll)
	return err
}

func etag(b []byte) string { return fmt.Sprintf("%q", fmt.Sprintf("%X", sha256.Sum256(b))) }

// aggregated says whether the client prefers the aggregated form: the first
// clause of Accept that is served decides.
func aggregated(r *http.Request) bool {
	for _, clause := range strings.Split(r.Header.Get("Accept"), ",") {
		media, p, err := mime.ParseMediaType(strings.TrimSpace(clause))
		if err != nil {
			continue
		}
		switch media {
		case "application/json", "application/*", "*/*":
			if p["as"] == "" {
				return false
			}
			// A profile asks for more than plain v2.
			if p["as"] == "APIGroupDiscoveryList" && p["g"] == "apidiscovery.k8s.io" && p["v"] == "v2" && p["profile"] == "" {
				return true
			}
		}
	}
	return false
}

func (d *discovery) core(w http.ResponseWriter, r *http.Request) {
	d.either(w, r, d.coreAll, d.coreETag)
}
func (d *discovery) groups(w http.ResponseWriter, r *http.Request) {
	d.either(w, r, d.groupsAll, d.groupsETag)
}

func (d *discovery) either(w http.ResponseWriter, r *http.Request, all []byte, tag string) {
	w.Header().Set("Vary", "Accept")
	if !aggregated(r) {
		d.serve(w, r)
		return
	}
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", aggregatedType)
	_, _ = w.Write(all)
}

// serve answers with the document of a path; false when there is none.
func (d *discovery) serve(w http.ResponseWriter, r *http.Request) bool {
	b, ok := d.documents[strings.TrimSuffix(r.URL.Path, "/")]
	if !ok {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
	return true
}
