package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/writ-dev/writ/cluster/admission"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// anyResource is for errors that are about no one resource.
var anyResource = schema.GroupResource{}

func resourceOf(k api.Kind) schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

func notFound(k api.Kind, name string) error { return apierrors.NewNotFound(resourceOf(k), name) }

func conflict(k api.Kind, name, why string) error {
	return apierrors.NewConflict(resourceOf(k), name, errors.New(why))
}

// stale is Kubernetes' wording; clients match on its reason only.
const stale = "the object has been modified; please apply your changes to the latest version and try again"

// invalid makes a 422 Invalid that names every problem as a cause.
func invalid(k api.Kind, name string, problems []admission.Problem) error {
	causes := make([]metav1.StatusCause, 0, len(problems))
	lines := make([]string, 0, len(problems))
	for _, p := range problems {
		field := strings.TrimPrefix(p.Path, ".")
		msg := p.Message
		if p.Hint != "" {
			msg += "; " + p.Hint
		}
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseType(p.Code), Field: field, Message: msg})
		lines = append(lines, strings.TrimPrefix(p.String(), "."))
	}
	text := strings.Join(lines, ", ")
	if len(lines) > 1 {
		text = "[" + text + "]"
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Code:     http.StatusUnprocessableEntity,
		Reason:   metav1.StatusReasonInvalid,
		Message:  fmt.Sprintf("%s %q is invalid: %s", schema.GroupKind{Group: k.Group, Kind: k.Kind}, name, text),
		Details:  &metav1.StatusDetails{Group: k.Group, Kind: k.Kind, Name: name, Causes: causes},
	}}
}

func problem(code, path, format string, args ...any) []admission.Problem {
	return []admission.Problem{{Code: code, Path: path, Message: fmt.Sprintf(format, args...)}}
}

func contextError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return apierrors.NewTimeoutError("the request took too long", 0)
	}
	return apierrors.NewTimeoutError("the request was cancelled: "+err.Error(), 0)
}

// proposeError maps what consensus said. Whether the write happened is not
// known then.
func proposeError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return contextError(ctx.Err())
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("commit: %v", err))
}

// transactionError joins the refusals of a transaction: reason and code of the
// first, and a cause for every one, whose field starts with operations[i].
func transactionError(ops []api.Operation, errs []error) error {
	s := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Details: &metav1.StatusDetails{Group: api.Group, Kind: "Transaction"}}
	var lines []string
	for i, err := range errs {
		if err == nil {
			continue
		}
		one := statusOf(err)
		if s.Reason == "" {
			s.Reason, s.Code = one.Reason, one.Code
		}
		at := fmt.Sprintf("operations[%d]", i)
		if i < len(ops) && !ops[i].Object.IsZero() {
			lines = append(lines, fmt.Sprintf("%s (%s %s): %s", at, ops[i].Action, ops[i].Object.Key(), one.Message))
		} else {
			lines = append(lines, at+": "+one.Message)
		}
		s.Details.Causes = append(s.Details.Causes, causesAt(at, one)...)
	}
	const most = 20
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", len(lines)-most))
	}
	s.Message = "transaction refused: " + strings.Join(lines, "; ")
	return &apierrors.StatusError{ErrStatus: s}
}

func causesAt(at string, s metav1.Status) []metav1.StatusCause {
	if s.Reason != metav1.StatusReasonInvalid || s.Details == nil || len(s.Details.Causes) == 0 {
		return []metav1.StatusCause{{Type: metav1.CauseType(s.Reason), Field: at, Message: s.Message}}
	}
	out := make([]metav1.StatusCause, 0, len(s.Details.Causes))
	for _, c := range s.Details.Causes {
		field := at
		if c.Field != "" {
			field += "." + c.Field
		}
		out = append(out, metav1.StatusCause{Type: c.Type, Field: field, Message: c.Message})
	}
	return out
}

func statusOf(err error) metav1.Status {
	var s apierrors.APIStatus
	if errors.As(err, &s) {
		return s.Status()
	}
	return apierrors.NewInternalError(err).ErrStatus
}

// treeName is keyName for a tree.
func treeName(tree map[string]any) string {
	m := metadata(tree)
	if name, _ := m["name"].(string); name != "" {
		return name
	}
	prefix, _ := m["generateName"].(string)
	return prefix
}

// keyName is what errors call the object when its name is not made yet.
func keyName(o object.Object) string {
	if o.Name() != "" {
		return o.Name()
	}
	return o.Meta().GenerateName
}
