package auth

import (
	"fmt"

	"github.com/writ-dev/writ/cluster/rbac"
)

// Attributes say what a request wants to do.
type Attributes = rbac.Request

// Facts is what decisions need to know of the cluster.
type Facts struct {
	// Roles returns who may do what by the cluster's roles.
	Roles func() *rbac.Index
	// PodNode returns the node that a pod is bound to, "" when it is not, and
	// whether it exists.
	PodNode func(namespace, name string) (node string, exists bool)
	// NodeReads says whether any pod bound to node refers to the ConfigMap,
	// Secret or ServiceAccount (resource is the plural).
	NodeReads func(node, resource, namespace, name string) bool
}

// Decision is an answer with its reason: which rule allows it, or what there
// is to say beyond that none does.
type Decision = rbac.Decision

func allow(reason string) Decision { return Decision{Allowed: true, Reason: reason} }

func deny(format string, args ...any) Decision {
	return Decision{Reason: fmt.Sprintf(format, args...)}
}

// joinPath is where nodes ask for their certificate.
const joinPath = "/writ/v1/join"

// Authorize decides whether u may do a: administrators may do everything,
// nodes what they need for their pods, and everybody what a role gives them.
func Authorize(u User, a Attributes, f Facts) Decision {
	if u.In(GroupMasters) {
		return allow("system:masters may do everything")
	}
	if a.Path == joinPath {
		if u.In(GroupBootstrap) || u.In(GroupNodes) {
			return allow("nodes may join")
		}
		return deny("joining needs the nodes' token")
	}
	var refused Decision
	if node := u.Node(); node != "" && a.Path == "" {
		if refused = authorizeNode(node, a, f); refused.Allowed {
			return refused
		}
	}
	d := f.Roles().Decide(rbac.User{Name: u.Name, Groups: u.Groups}, a)
	if !d.Allowed && refused.Reason != "" {
		return refused
	}
	return d
}

// Refusal words a refused request as Kubernetes does.
func Refusal(u User, a Attributes, reason string) string {
	var text string
	if a.Path != "" {
		text = fmt.Sprintf("User %q cannot %s path %q", u.Name, a.Verb, a.Path)
	} else {
		resource := a.Resource
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		text = fmt.Sprintf("User %q cannot %s resource %q in API group %q", u.Name, a.Verb, resource, a.Group)
		if a.Namespace != "" {
			text += fmt.Sprintf(" in the namespace %q", a.Namespace)
		} else {
			text += " at the cluster scope"
		}
	}
	if reason != "" {
		text += ": " + reason
	}
	return text
}

// nodeReadable are the resources that a node may read without being named by
// one of its pods.
var nodeReadable = map[string]bool{
	"/nodes": true, "/pods": true, "/services": true, "/namespaces": true, "/events": true, "/serviceaccounts": true,
	"discovery.k8s.io/endpointslices": true, "coordination.k8s.io/leases": true,
	"writ.dev/grants": true, "writ.dev/dependencies": true,
}

func authorizeNode(node string, a Attributes, f Facts) Decision {
	res := a.Group + "/" + a.Resource
	switch a.Verb {
	case "get", "list", "watch":
		if a.Subresource == "" && nodeReadable[res] {
			return allow("nodes may do this for their pods")
		}
		if a.Group == "" && (a.Resource == "secrets" || a.Resource == "configmaps") {
			if a.Verb == "get" && a.Name != "" && f.NodeReads(node, a.Resource, a.Namespace, a.Name) {
				return allow("nodes may do this for their pods")
			}
			return deny("node %q may only get %s that its pods refer to", node, a.Resource)
		}
		return deny("node %q may not read %s", node, a.Resource)
	}
	switch res {
	case "/serviceaccounts":
		if a.Verb == "create" && a.Subresource == "token" && f.NodeReads(node, a.Resource, a.Namespace, a.Name) {
			return allow("nodes may do this for their pods")
		}
	case "/nodes":
		return nodeOwn(node, a)
	case "/pods":
		return nodePod(node, a, f)
	case "/events":
		if a.Verb == "create" || a.Verb == "update" || a.Verb == "patch" {
			return allow("nodes may do this for their pods")
		}
	case "coordination.k8s.io/leases":
		if a.Namespace == "kube-node-lease" && a.Name == node && a.Verb != "deletecollection" {
			return allow("nodes may do this for their pods")
		}
		return deny("node %q may only write the Lease kube-node-lease/%s", node, node)
	}
	return deny("node %q may not %s %s", node, a.Verb, a.Resource)
}

func nodeOwn(node string, a Attributes) Decision {
	if a.Name != node {
		return deny("node %q may only write its own Node", node)
	}
	switch a.Verb {
	case "create", "update", "patch":
		return allow("nodes may do this for their pods")
	}
	return deny("node %q may not %s nodes", node, a.Verb)
}

func nodePod(node string, a Attributes, f Facts) Decision {
	write := a.Subresource == "status" && (a.Verb == "update" || a.Verb == "patch")
	remove := a.Subresource == "" && a.Verb == "delete"
	if !write && !remove {
		return deny("node %q may only write the status of its pods, and delete them", node)
	}
	if on, ok := f.PodNode(a.Namespace, a.Name); ok && on != node {
		return deny("pod %s/%s is not on node %q", a.Namespace, a.Name, node)
	}
	return allow("nodes may do this for their pods")
}
