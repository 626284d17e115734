package apply

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/lang/diag"
)

// cause is one reason why the server refused a transaction.
type cause struct {
	// operation is the index, or -1 when the cause names none.
	operation     int
	path          string
	code, message string
}

var operationField = regexp.MustCompile(`^operations\[(\d+)\](.*)$`)

var noNamespace = regexp.MustCompile(`^namespaces "([^"]*)" not found$`)

// causesOf reads the causes in a refusal's Status.
func causesOf(err error) []cause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var out []cause
	for _, c := range status.Status().Details.Causes {
		one := cause{operation: -1, code: string(c.Type), message: c.Message}
		if m := operationField.FindStringSubmatch(c.Field); m != nil {
			if i, err := strconv.Atoi(m[1]); err == nil {
				one.operation, one.path = i, m[2]
			}
		}
		out = append(out, one)
	}
	return out
}

// refusal turns what the server said about operations into diagnostics at the
// places where the refused fields were written. items has, for every
// operation, what it belongs to. Errors that are about no operation stay.
func refusal(err error, items []*item) error {
	var list diag.List
	for _, c := range causesOf(err) {
		if c.operation < 0 || c.operation >= len(items) {
			return fmt.Errorf("transaction refused: %w", err)
		}
		list = append(list, c.diagnostic(items[c.operation]))
	}
	if len(list) == 0 {
		return fmt.Errorf("transaction refused: %w", err)
	}
	return list.Err()
}

func (c cause) diagnostic(it *item) diag.Diagnostic {
	d := diag.Diagnostic{Code: c.code, Pos: it.Pos, Object: it.Key.String(), Path: c.path, Message: c.message}
	if c.path != "" && !it.Object.IsZero() {
		d.Pos = it.origin.Field(diff.Keyed(it.kind, it.Object.Tree(), c.path))
	}
	if message, hint, ok := strings.Cut(c.message, "; "); ok {
		d.Message, d.Hint = message, hint
	}
	if m := noNamespace.FindStringSubmatch(c.message); m != nil {
		d.Message = fmt.Sprintf("namespace %s does not exist", m[1])
		d.Hint = "add a Namespace named " + m[1] + " to the documents"
	}
	return d
}
