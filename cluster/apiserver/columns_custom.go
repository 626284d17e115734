package apiserver

import (
	"encoding/json"
	"time"

	"github.com/writ-dev/writ/cluster/custom"
	"github.com/writ-dev/writ/cluster/object"
)

// customPrinter shows the columns that a definition names.
func customPrinter(c *custom.Kind) printer {
	p := printer{columns: []column{colName}}
	for _, col := range c.Columns {
		p.columns = append(p.columns, column{name: col.Name, kind: col.Type, description: col.Description, wide: col.Priority > 0})
	}
	p.cells = func(o object.Object, now time.Time) ([]any, error) {
		var tree map[string]any
		if err := json.Unmarshal(o.JSON(), &tree); err != nil {
			return nil, err
		}
		cells := []any{o.Name()}
		for _, col := range c.Columns {
			cells = append(cells, col.Cell(tree, now))
		}
		return cells, nil
	}
	return p
}

// definitionPrinter shows when a definition was made, as the original does.
var definitionPrinter = printer{
	columns: []column{colName, {name: "Created At", kind: "date"}},
	cells: func(o object.Object, _ time.Time) ([]any, error) {
		return []any{o.Name(), o.Meta().CreationTimestamp}, nil
	},
}
