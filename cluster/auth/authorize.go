package auth

import "fmt"

// Attributes say what a request wants to do. Verb is one of get, list, watch,
// create, update, patch, delete, deletecollection, in Kubernetes' meaning.
type Attributes struct {
	Verb            string
	Group, Resource string
	Subresource     string
	Namespace, Name string
	// Path is set, and the rest but Verb empty, for requests about no resource.
	Path string
}

// Facts is what decisions about nodes need to know of the cluster.
type Facts struct {
	// PodNode returns the node that a pod is bound to, "" when it is not, and
	// whether it exists.
	PodNode func(namespace, name string) (node string, exists bool)
	// NodeReads says whether any pod bound to node refers to the ConfigMap or
	// Secret (resource is the plural).
	NodeReads func(node, resource, namespace, name string) bool
}

// Decision is an answer with its reason; the reason is empty when allowed.
type Decision struct {
	Allowed bool
	Reason  string
}

func allow() Decision { return Decision{Allowed: true} }

func deny(format string, args ...any) Decision {
	return Decision{Reason: fmt.Sprintf(format, args...)}
}

// Authorize decides whether u may do a.
func Authorize(u User, a Attributes, f Facts) Decision {
	switch {
	case u.In(GroupMasters):
		return allow()
	case a.Path != "":
		return authorizePath(u, a)
	case a.Group == "authorization.k8s.io" && a.Resource == "selfsubjectaccessreviews",
		a.Group == "authentication.k8s.io" && a.Resource == "selfsubjectreviews":
		return allow()
	case u.Node() != "":
		return authorizeNode(u.Node(), a, f)
	}
	return deny("user %q has no permission for it", u.Name)
}

// authorizePath lets everybody who is known read what the server can do;
// joining is for nodes and those who want to be one.
func authorizePath(u User, a Attributes) Decision {
	if a.Path == "/writ/v1/join" {
		if u.In(GroupBootstrap) || u.In(GroupNodes) {
			return allow()
		}
		return deny("joining needs the nodes' token")
	}
	if a.Verb == "get" {
		return allow()
	}
	return deny("user %q may not %s %s", u.Name, a.Verb, a.Path)
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
			return allow()
		}
		if a.Group == "" && (a.Resource == "secrets" || a.Resource == "configmaps") {
			if a.Verb == "get" && a.Name != "" && f.NodeReads(node, a.Resource, a.Namespace, a.Name) {
				return allow()
			}
			return deny("node %q may only get %s that its pods refer to", node, a.Resource)
		}
		return deny("node %q may not read %s", node, a.Resource)
	}
	switch res {
	case "/nodes":
		return nodeOwn(node, a)
	case "/pods":
		return nodePod(node, a, f)
	case "/events":
		if a.Verb == "create" || a.Verb == "update" || a.Verb == "patch" {
			return allow()
		}
	case "coordination.k8s.io/leases":
		if a.Namespace == "kube-node-lease" && a.Name == node && a.Verb != "deletecollection" {
			return allow()
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
		return allow()
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
	return allow()
}
