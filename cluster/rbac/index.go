// Package rbac decides by the roles of a cluster who may do what, as the
// Kubernetes kinds Role, ClusterRole, RoleBinding and ClusterRoleBinding say
// it. It is pure: an Index is compiled from one state and answers for it.
//
// There is nothing but permission: what no rule allows is refused, and no rule
// takes away what another gives. Covers answers the question behind escalation
// prevention, whether somebody holds already what they are about to grant, and
// Defaults holds the roles that every cluster has.
//
//	i := rbac.Compile(state)
//	d := i.Decide(rbac.User{Name: "jane"}, rbac.Request{Verb: "get", Resource: "pods", Namespace: "shop"})
package rbac

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// State is what an Index is compiled from. An empty namespace means all.
type State interface {
	Get(k object.Key) (object.Object, bool)
	List(group, kind, namespace string) iter.Seq[object.Object]
}

// User is who asks.
type User struct {
	Name   string
	Groups []string
}

// Request is what somebody wants to do. Verb is one of Kubernetes' verbs, such
// as get, list, watch, create, update, patch, delete and deletecollection.
type Request struct {
	Verb            string
	Group, Resource string
	Subresource     string
	Namespace, Name string
	// Path is set, and the rest but Verb empty, for requests about no resource.
	Path string
}

// Decision is an answer with its reason. The reason of a refusal is empty
// unless there is more to say than that no rule allows it.
type Decision struct {
	Allowed bool
	Reason  string
}

// accountPrefix begins the user name of every ServiceAccount.
const accountPrefix = "system:serviceaccount:"

// AccountUser returns the user name of a ServiceAccount.
func AccountUser(namespace, name string) string { return accountPrefix + namespace + ":" + name }

// SplitAccount returns the ServiceAccount that a user name stands for.
func SplitAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, accountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, ":")
}

// AccountGroups returns the groups of the ServiceAccounts of a namespace.
func AccountGroups(namespace string) []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}
}

// grant is one role given to one subject.
type grant struct {
	// why says where it comes from, for people.
	why string
	// missing names the role when it is not there.
	missing string
	rules   []rbacv1.PolicyRule
}

// table holds the grants of one scope by subject.
type table struct {
	users, groups map[string][]grant
}

// Index is who may do what, compiled. It never changes and is safe for
// concurrent use.
type Index struct {
	cluster table
	local   map[string]table
}

// Compile reads the roles and bindings of a state.
func Compile(s State) *Index {
	i := &Index{cluster: newTable(), local: map[string]table{}}
	for o := range s.List(rbacv1.GroupName, api.ClusterRoleBinding.Kind, "") {
		if b, err := api.Decode[rbacv1.ClusterRoleBinding](o); err == nil {
			i.cluster.add(s, "ClusterRoleBinding", "", b.Name, b.RoleRef, b.Subjects)
		}
	}
	for o := range s.List(rbacv1.GroupName, api.RoleBinding.Kind, "") {
		b, err := api.Decode[rbacv1.RoleBinding](o)
		if err != nil {
			continue
		}
		t, ok := i.local[b.Namespace]
		if !ok {
			t = newTable()
			i.local[b.Namespace] = t
		}
		t.add(s, "RoleBinding", b.Namespace, b.Name, b.RoleRef, b.Subjects)
	}
	return i
}

func newTable() table {
	return table{users: map[string][]grant{}, groups: map[string][]grant{}}
}

func (t table) add(s State, kind, namespace, name string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
	rules, ok := Rules(s, ref, namespace)
	shown := name
	if namespace != "" {
		shown = name + "/" + namespace
	}
	for _, subject := range subjects {
		g := grant{rules: rules, why: fmt.Sprintf("RBAC: allowed by %s %q of %s %q to %s %q", kind, shown, ref.Kind, ref.Name, subject.Kind, subjectName(subject))}
		if !ok {
			g.missing = fmt.Sprintf("%s.%s %q not found", strings.ToLower(ref.Kind), rbacv1.GroupName, ref.Name)
		}
		switch subject.Kind {
		case rbacv1.UserKind:
			t.users[subject.Name] = append(t.users[subject.Name], g)
		case rbacv1.GroupKind:
			t.groups[subject.Name] = append(t.groups[subject.Name], g)
		case rbacv1.ServiceAccountKind:
			ns := subject.Namespace
			if ns == "" {
				ns = namespace
			}
			if ns != "" {
				user := AccountUser(ns, subject.Name)
				t.users[user] = append(t.users[user], g)
			}
		}
	}
}

func subjectName(s rbacv1.Subject) string {
	if s.Kind == rbacv1.ServiceAccountKind {
		return s.Name + "/" + s.Namespace
	}
	return s.Name
}

// Rules returns the rules of the role that a binding in a namespace refers to,
// and whether it exists. An empty namespace is that of a ClusterRoleBinding.
func Rules(s State, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, bool) {
	switch {
	case ref.Kind == api.ClusterRole.Kind:
		if o, ok := s.Get(api.ClusterRole.Key("", ref.Name)); ok {
			if r, err := api.Decode[rbacv1.ClusterRole](o); err == nil {
				return r.Rules, true
			}
		}
	case ref.Kind == api.Role.Kind && namespace != "":
		if o, ok := s.Get(api.Role.Key(namespace, ref.Name)); ok {
			if r, err := api.Decode[rbacv1.Role](o); err == nil {
				return r.Rules, true
			}
		}
	}
	return nil, false
}

// grants yields what u was given for a namespace: for the whole cluster and,
// unless namespace is empty, for that one.
func (i *Index) grants(u User, namespace string) iter.Seq[*grant] {
	return func(yield func(*grant) bool) {
		if !i.cluster.grants(u, yield) || namespace == "" {
			return
		}
		if t, ok := i.local[namespace]; ok {
			t.grants(u, yield)
		}
	}
}

func (t table) grants(u User, yield func(*grant) bool) bool {
	list := t.users[u.Name]
	for n := range list {
		if !yield(&list[n]) {
			return false
		}
	}
	for _, group := range u.Groups {
		list := t.groups[group]
		for n := range list {
			if !yield(&list[n]) {
				return false
			}
		}
	}
	return true
}

// Decide says whether u may do r.
func (i *Index) Decide(u User, r Request) Decision {
	var missing []string
	for g := range i.grants(u, r.Namespace) {
		for n := range g.rules {
			if Allows(&g.rules[n], r) {
				return Decision{Allowed: true, Reason: g.why}
			}
		}
		if g.missing != "" && !slices.Contains(missing, g.missing) {
			missing = append(missing, g.missing)
		}
	}
	if len(missing) > 0 {
		return Decision{Reason: "RBAC: " + strings.Join(missing, ", ")}
	}
	return Decision{}
}

// Held returns every rule that u holds in a namespace, or without one for the
// whole cluster.
func (i *Index) Held(u User, namespace string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for g := range i.grants(u, namespace) {
		out = append(out, g.rules...)
	}
	return out
}
