// Package api lists the kinds that the cluster serves, and holds Writ's own
// kinds. Built-in Kubernetes kinds use the types of k8s.io/api as they are.
// This package is data: validation lives in cluster/admission, behaviour in
// the controllers.
package api

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/writ-dev/writ/cluster/object"
)

// Kind describes one served kind.
type Kind struct {
	Group, Version, Kind string
	// Resource is the plural in URLs.
	Resource, Singular string
	ShortNames         []string
	Categories         []string
	Namespaced         bool
	// Status says whether the kind has a status subresource, Scale whether it
	// has a scale subresource.
	Status, Scale bool
	// Custom kinds are made by a CustomResourceDefinition.
	Custom bool
	// System kinds are written by the cluster only; everyone else may read.
	System bool
	// New returns an empty typed object.
	New func() runtime.Object
}

// GVK returns the group, version and kind.
func (k Kind) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// GVR returns the group, version and resource.
func (k Kind) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Resource}
}

// APIVersion returns "v1" or "group/version".
func (k Kind) APIVersion() string { return k.GVK().GroupVersion().String() }

// Key returns the key of an object of this kind.
func (k Kind) Key(namespace, name string) object.Key {
	if !k.Namespaced {
		namespace = ""
	}
	return object.Key{Group: k.Group, Kind: k.Kind, Namespace: namespace, Name: name}
}

// The kinds served. Kinds lists them all.
var (
	Namespace          = Kind{Version: "v1", Kind: "Namespace", Resource: "namespaces", Singular: "namespace", ShortNames: []string{"ns"}, Status: true, New: func() runtime.Object { return new(corev1.Namespace) }}
	Node               = Kind{Version: "v1", Kind: "Node", Resource: "nodes", Singular: "node", ShortNames: []string{"no"}, Status: true, New: func() runtime.Object { return new(corev1.Node) }}
	Pod                = Kind{Version: "v1", Kind: "Pod", Resource: "pods", Singular: "pod", ShortNames: []string{"po"}, Categories: []string{"all"}, Namespaced: true, Status: true, New: func() runtime.Object { return new(corev1.Pod) }}
	Service            = Kind{Version: "v1", Kind: "Service", Resource: "services", Singular: "service", ShortNames: []string{"svc"}, Categories: []string{"all"}, Namespaced: true, Status: true, New: func() runtime.Object { return new(corev1.Service) }}
	ConfigMap          = Kind{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Singular: "configmap", ShortNames: []string{"cm"}, Namespaced: true, New: func() runtime.Object { return new(corev1.ConfigMap) }}
	Secret             = Kind{Version: "v1", Kind: "Secret", Resource: "secrets", Singular: "secret", Namespaced: true, New: func() runtime.Object { return new(corev1.Secret) }}
	ServiceAccount     = Kind{Version: "v1", Kind: "ServiceAccount", Resource: "serviceaccounts", Singular: "serviceaccount", ShortNames: []string{"sa"}, Namespaced: true, New: func() runtime.Object { return new(corev1.ServiceAccount) }}
	EventKind          = Kind{Version: "v1", Kind: "Event", Resource: "events", Singular: "event", ShortNames: []string{"ev"}, Namespaced: true, New: func() runtime.Object { return new(corev1.Event) }}
	Deployment         = Kind{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Singular: "deployment", ShortNames: []string{"deploy"}, Categories: []string{"all"}, Namespaced: true, Status: true, Scale: true, New: func() runtime.Object { return new(appsv1.Deployment) }}
	ReplicaSet         = Kind{Group: "apps", Version: "v1", Kind: "ReplicaSet", Resource: "replicasets", Singular: "replicaset", ShortNames: []string{"rs"}, Categories: []string{"all"}, Namespaced: true, Status: true, Scale: true, New: func() runtime.Object { return new(appsv1.ReplicaSet) }}
	Job                = Kind{Group: "batch", Version: "v1", Kind: "Job", Resource: "jobs", Singular: "job", Categories: []string{"all"}, Namespaced: true, Status: true, New: func() runtime.Object { return new(batchv1.Job) }}
	EndpointSlice      = Kind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice", Resource: "endpointslices", Singular: "endpointslice", Namespaced: true, New: func() runtime.Object { return new(discoveryv1.EndpointSlice) }}
	Lease              = Kind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease", Resource: "leases", Singular: "lease", Namespaced: true, New: func() runtime.Object { return new(coordinationv1.Lease) }}
	Role               = Kind{Group: rbacv1.GroupName, Version: "v1", Kind: "Role", Resource: "roles", Singular: "role", Namespaced: true, New: func() runtime.Object { return new(rbacv1.Role) }}
	ClusterRole        = Kind{Group: rbacv1.GroupName, Version: "v1", Kind: "ClusterRole", Resource: "clusterroles", Singular: "clusterrole", New: func() runtime.Object { return new(rbacv1.ClusterRole) }}
	RoleBinding        = Kind{Group: rbacv1.GroupName, Version: "v1", Kind: "RoleBinding", Resource: "rolebindings", Singular: "rolebinding", Namespaced: true, New: func() runtime.Object { return new(rbacv1.RoleBinding) }}
	ClusterRoleBinding = Kind{Group: rbacv1.GroupName, Version: "v1", Kind: "ClusterRoleBinding", Resource: "clusterrolebindings", Singular: "clusterrolebinding", New: func() runtime.Object { return new(rbacv1.ClusterRoleBinding) }}
	DependencyKind     = Kind{Group: Group, Version: Version, Kind: "Dependency", Resource: "dependencies", Singular: "dependency", ShortNames: []string{"dep"}, Categories: []string{"all"}, Namespaced: true, Status: true, New: func() runtime.Object { return new(Dependency) }}
	GrantKind          = Kind{Group: Group, Version: Version, Kind: "Grant", Resource: "grants", Singular: "grant", System: true, New: func() runtime.Object { return new(Grant) }}
	ReleaseKind        = Kind{Group: Group, Version: Version, Kind: "Release", Resource: "releases", Singular: "release", Namespaced: true, New: func() runtime.Object { return new(Release) }}
	RevisionKind       = Kind{Group: Group, Version: Version, Kind: "ReleaseRevision", Resource: "releaserevisions", Singular: "releaserevision", Namespaced: true, New: func() runtime.Object { return new(ReleaseRevision) }}
	SourceKind         = Kind{Group: Group, Version: Version, Kind: "Source", Resource: "sources", Singular: "source", ShortNames: []string{"src"}, Namespaced: true, Status: true, New: func() runtime.Object { return new(Source) }}
)

// Kinds is every kind served, in apply order: what others need comes first.
var Kinds = []Kind{
	Namespace, Node, Lease, ServiceAccount, ClusterRole, Role, ClusterRoleBinding, RoleBinding, Secret, ConfigMap, Service, EndpointSlice,
	DependencyKind, GrantKind, Deployment, ReplicaSet, Job, Pod, EventKind, ReleaseKind, RevisionKind, SourceKind,
}

// CronJob is not served. It is known all the same: the Jobs that it makes elsewhere
// use what it declares.
var CronJob = Kind{Group: "batch", Version: "v1", Kind: "CronJob", Resource: "cronjobs", Singular: "cronjob", ShortNames: []string{"cj"}, Categories: []string{"all"}, Namespaced: true, Status: true, New: func() runtime.Object { return new(batchv1.CronJob) }}

// Known finds a kind that is served, or that may declare dependencies.
func Known(group, kind string) (Kind, bool) {
	if group == CronJob.Group && kind == CronJob.Kind {
		return CronJob, true
	}
	return Lookup(group, kind)
}

// Lookup finds a served kind by group and kind.
func Lookup(group, kind string) (Kind, bool) {
	for _, k := range Kinds {
		if k.Group == group && k.Kind == kind {
			return k, true
		}
	}
	return Kind{}, false
}

// ByResource finds a served kind by group and plural resource.
func ByResource(group, resource string) (Kind, bool) {
	for _, k := range Kinds {
		if k.Group == group && k.Resource == resource {
			return k, true
		}
	}
	return Kind{}, false
}

// Decode returns the typed form of o, a pointer such as *corev1.Pod. It is
// shared: callers must DeepCopy before they change it. Unknown fields are
// ignored here; Strict reports them.
func Decode[T any](o object.Object) (*T, error) {
	if v, ok := o.Decoded().(*T); ok {
		return v, nil
	}
	v := new(T)
	if err := unmarshal(o.JSON(), v); err != nil {
		return nil, fmt.Errorf("decode %s: %w", o.Key(), err)
	}
	o.SetDecoded(v)
	return v, nil
}

// Encode makes an object of a typed one; k gives its apiVersion and kind.
func Encode(k Kind, typed any) (object.Object, error) {
	b, err := object.Marshal(typed)
	if err != nil {
		return object.Object{}, fmt.Errorf("encode %s: %w", k.Kind, err)
	}
	v, err := object.Unmarshal(b)
	if err != nil {
		return object.Object{}, err
	}
	tree := v.(map[string]any)
	tree["apiVersion"], tree["kind"] = k.APIVersion(), k.Kind
	return object.FromTree(tree)
}
