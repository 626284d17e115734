package apiserver

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// column is one column of a kind's table.
type column struct {
	name, kind, description string
	// wide columns are shown only with -o wide.
	wide bool
}

// columns and cells of one kind. cells returns one cell for each column; it is
// given nothing but the object and the time.
type printer struct {
	columns []column
	cells   func(o object.Object, now time.Time) ([]any, error)
}

// include reads which part of the objects the client wants beside the cells.
func include(r *http.Request) metav1.IncludeObjectPolicy {
	if p := metav1.IncludeObjectPolicy(callOf(r).info.query.Get("includeObject")); p != "" {
		return p
	}
	return metav1.IncludeMetadata
}

// table makes the table that kubectl shows.
func (s *Server) table(k api.Kind, items []object.Object, policy metav1.IncludeObjectPolicy, head bool) *metav1.Table {
	p, ok := printers[k.Kind]
	if c, is := s.o.Registry.Customs().Lookup(k.Group, k.Kind); is {
		p, ok = customPrinter(c), true
	}
	if !ok {
		p = anyPrinter
	}
	t := &metav1.Table{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}, Rows: make([]metav1.TableRow, 0, len(items))}
	t.ColumnDefinitions = []metav1.TableColumnDefinition{}
	if head {
		for i, c := range p.columns {
			d := metav1.TableColumnDefinition{Name: c.name, Type: c.kind, Description: c.description}
			if i == 0 {
				d.Format = "name"
			}
			if c.wide {
				d.Priority = 1
			}
			t.ColumnDefinitions = append(t.ColumnDefinitions, d)
		}
	}
	now := time.Now()
	for _, o := range items {
		cells, err := p.cells(o, now)
		if err != nil {
			// What cannot be decoded is still there, and is listed.
			cells = make([]any, len(p.columns))
			cells[0] = o.Name()
		}
		t.Rows = append(t.Rows, metav1.TableRow{Cells: cells, Object: rowObject(o, policy)})
	}
	return t
}

func rowObject(o object.Object, policy metav1.IncludeObjectPolicy) runtime.RawExtension {
	switch policy {
	case metav1.IncludeNone:
		return runtime.RawExtension{}
	case metav1.IncludeObject:
		return runtime.RawExtension{Raw: o.JSON()}
	}
	return runtime.RawExtension{Raw: partial(o)}
}

var (
	colName = column{name: "Name", kind: "string", description: "Name of the object, unique in its namespace."}
	colAge  = column{name: "Age", kind: "string", description: "Time since the object was created."}
)

var anyPrinter = printer{columns: []column{colName, colAge}, cells: func(o object.Object, now time.Time) ([]any, error) {
	return []any{o.Name(), age(o, now)}, nil
}}

func text(name string) column     { return column{name: name, kind: "string"} }
func count(name string) column    { return column{name: name, kind: "integer"} }
func wideText(name string) column { return column{name: name, kind: "string", wide: true} }

func age(o object.Object, now time.Time) string {
	t, err := time.Parse(time.RFC3339, o.Meta().CreationTimestamp)
	if err != nil {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(t))
}

func since(t time.Time, now time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(t))
}

// typed makes cells of the decoded object.
func typed[T any](f func(v *T, o object.Object, now time.Time) []any) func(object.Object, time.Time) ([]any, error) {
	return func(o object.Object, now time.Time) ([]any, error) {
		v, err := api.Decode[T](o)
		if err != nil {
			return nil, err
		}
		return f(v, o, now), nil
	}
}
