package apiserver

import (
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/writ-dev/writ/cluster/object"
)

var (
	colCreated     = text("Created At")
	bindingColumns = []column{colName, text("Role"), colAge, wideText("Users"), wideText("Groups"), wideText("ServiceAccounts")}
)

func roleCells(o object.Object, _ time.Time) ([]any, error) {
	return []any{o.Name(), o.Meta().CreationTimestamp}, nil
}

func bindingCells(ref rbacv1.RoleRef, subjects []rbacv1.Subject, o object.Object, now time.Time) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{o.Name(), ref.Kind + "/" + ref.Name, age(o, now), strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", ")}
}
