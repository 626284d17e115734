package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/rbac"
	"github.com/writ-dev/writ/cluster/store"
)

// masters may do everything, whatever the roles say.
const masters = "system:masters"

// roles keeps the compiled roles of the last state that was asked for.
type roles struct {
	last atomic.Pointer[compiled]
	mu   sync.Mutex // held while compiling
}

type compiled struct {
	mark  store.Mark
	index *rbac.Index
}

func (r *roles) of(s store.Snapshot) *rbac.Index {
	mark := s.Mark(rbacv1.GroupName, "")
	if c := r.last.Load(); c != nil && c.mark == mark {
		return c.index
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.last.Load(); c != nil && c.mark == mark {
		return c.index
	}
	c := &compiled{mark: mark, index: rbac.Compile(s)}
	r.last.Store(c)
	return c.index
}

// Roles returns who may do what by the roles as they are now.
func (r *Registry) Roles() *rbac.Index { return r.roles.of(r.o.Store.View()) }

// escalation refuses to hand out, by role or binding, what the user does not
// hold. What is held is judged before the transaction: nobody gives a right to
// themselves first. Run it when everything is staged.
func (t *tx) escalation(o outcome) error {
	if o.key.Group != rbacv1.GroupName || o.removed || o.object.IsZero() || t.u.system() || slices.Contains(t.u.Groups, masters) {
		return nil
	}
	s, ok := t.staged[o.key]
	if !ok || s.next.IsZero() {
		return nil
	}
	k, ok := api.Lookup(o.key.Group, o.key.Kind)
	if !ok {
		return nil
	}
	switch k.Kind {
	case api.Role.Kind, api.ClusterRole.Kind:
		return t.escalationByRole(k, s)
	case api.RoleBinding.Kind, api.ClusterRoleBinding.Kind:
		return t.escalationByBinding(k, s)
	}
	return nil
}

func (t *tx) escalationByRole(k api.Kind, s *staged) error {
	next, err := roleOf(s.next)
	if err != nil {
		return err
	}
	if !s.live.IsZero() {
		if was, err := roleOf(s.live); err == nil && equality.Semantic.DeepEqual(was.Rules, next.Rules) && equality.Semantic.DeepEqual(was.AggregationRule, next.AggregationRule) {
			return nil
		}
	}
	name := s.next.Name()
	if t.may("escalate", k, s.next.Namespace(), name) {
		return nil
	}
	if next.AggregationRule != nil && len(rbac.Missing(t.held(""), rbac.Everything)) > 0 {
		return apierrors.NewForbidden(resourceOf(k), name, errors.New("must have cluster-admin privileges to use an aggregationRule"))
	}
	return t.mustHold(k, name, s.next.Namespace(), next.Rules)
}

// roleOf returns the rules of a Role or ClusterRole.
func roleOf(o object.Object) (*rbacv1.ClusterRole, error) {
	if o.Kind() == api.ClusterRole.Kind {
		r, err := api.Decode[rbacv1.ClusterRole](o)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return r, nil
	}
	r, err := api.Decode[rbacv1.Role](o)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return &rbacv1.ClusterRole{Rules: r.Rules}, nil
}

func (t *tx) escalationByBinding(k api.Kind, s *staged) error {
	ref, subjects, err := bindingOf(s.next)
	if err != nil {
		return err
	}
	if !s.live.IsZero() {
		if wasRef, was, err := bindingOf(s.live); err == nil && ref == wasRef && equality.Semantic.DeepEqual(subjects, was) {
			return nil
		}
	}
	namespace := s.next.Namespace()
	role := api.ClusterRole
	if ref.Kind == api.Role.Kind {
		role = api.Role
	}
	if t.may("bind", role, namespace, ref.Name) {
		return nil
	}
	rules, ok := rbac.Rules(view{t}, ref, namespace)
	if !ok {
		return notFound(role, ref.Name)
	}
	// The role may not grow between this look and the commit.
	key := role.Key(namespace, ref.Name)
	if rev := t.revision(key); rev != 0 {
		t.relied[key] = rev
	}
	return t.mustHold(k, s.next.Name(), namespace, rules)
}

func bindingOf(o object.Object) (rbacv1.RoleRef, []rbacv1.Subject, error) {
	if o.Kind() == api.ClusterRoleBinding.Kind {
		b, err := api.Decode[rbacv1.ClusterRoleBinding](o)
		if err != nil {
			return rbacv1.RoleRef{}, nil, apierrors.NewBadRequest(err.Error())
		}
		return b.RoleRef, b.Subjects, nil
	}
	b, err := api.Decode[rbacv1.RoleBinding](o)
	if err != nil {
		return rbacv1.RoleRef{}, nil, apierrors.NewBadRequest(err.Error())
	}
	return b.RoleRef, b.Subjects, nil
}

func (t *tx) may(verb string, k api.Kind, namespace, name string) bool {
	return t.r.roles.of(t.snap).Decide(rbac.User{Name: t.u.Name, Groups: t.u.Groups}, rbac.Request{Verb: verb, Group: k.Group, Resource: k.Resource, Namespace: namespace, Name: name}).Allowed
}

func (t *tx) held(namespace string) []rbacv1.PolicyRule {
	return t.r.roles.of(t.snap).Held(rbac.User{Name: t.u.Name, Groups: t.u.Groups}, namespace)
}

func (t *tx) mustHold(k api.Kind, name, namespace string, rules []rbacv1.PolicyRule) error {
	if rbac.Combinations(rules) > rbac.MaxCombinations {
		return apierrors.NewForbidden(resourceOf(k), name, fmt.Errorf("the rules name more than %d single permissions; use wildcards or several roles", rbac.MaxCombinations))
	}
	missing := rbac.Missing(t.held(namespace), rules)
	if len(missing) == 0 {
		return nil
	}
	const most = 30
	lines := make([]string, 0, len(missing))
	for _, r := range missing {
		lines = append(lines, rbac.Text(r))
	}
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", len(missing)-most))
	}
	return apierrors.NewForbidden(resourceOf(k), name, fmt.Errorf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", t.u.Name, t.u.Groups, strings.Join(lines, "\n")))
}

// bootstrapRoles creates the default roles and bindings that are not there, and
// adds to those that are what they lack, unless their annotation forbids it.
func (c *Client) bootstrapRoles(ctx context.Context) error {
	var ops []op
	for _, r := range rbac.DefaultRoles() {
		o, err := api.Encode(api.ClusterRole, r)
		if err != nil {
			return err
		}
		ops = append(ops, ensure(o, func(live object.Object) (any, bool) {
			was, err := roleOf(live)
			if err != nil {
				return nil, false
			}
			next := was.DeepCopy()
			if r.AggregationRule == nil {
				next.Rules = append(next.Rules, rbac.Missing(was.Rules, r.Rules)...)
			} else if was.AggregationRule == nil {
				next.AggregationRule = r.AggregationRule
			}
			return next, true
		}))
	}
	for _, b := range rbac.DefaultBindings() {
		o, err := api.Encode(api.ClusterRoleBinding, b)
		if err != nil {
			return err
		}
		ops = append(ops, ensure(o, func(live object.Object) (any, bool) {
			was, err := api.Decode[rbacv1.ClusterRoleBinding](live)
			if err != nil {
				return nil, false
			}
			next := was.DeepCopy()
			for _, s := range b.Subjects {
				if !slices.Contains(next.Subjects, s) {
					next.Subjects = append(next.Subjects, s)
				}
			}
			return next, true
		}))
	}
	if _, _, errs := c.commit(ctx, ops, false); errs != nil {
		for _, err := range errs {
			if err != nil {
				return fmt.Errorf("create default roles: %w", err)
			}
		}
	}
	return nil
}

// ensure creates o, or updates the one that is there to what complete makes of
// it.
func ensure(o object.Object, complete func(live object.Object) (any, bool)) op {
	return func(t *tx) (outcome, error) {
		live, ok := t.get(o.Key())
		if !ok {
			return t.create(o, Strict)
		}
		if live.Meta().Annotations[rbac.AutoUpdate] == "false" || live.Meta().DeletionTimestamp != "" {
			return outcome{}, nil
		}
		typed, ok := complete(live)
		if !ok {
			return outcome{}, nil
		}
		k, err := t.identify(live)
		if err != nil {
			return outcome{}, err
		}
		next, err := api.Encode(k, typed)
		if err != nil {
			return outcome{}, err
		}
		return t.update(next, preconditions{}, Ignore)
	}
}
