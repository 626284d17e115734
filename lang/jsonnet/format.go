package jsonnet

import (
	"github.com/google/go-jsonnet/formatter"
)

// Format returns a Jsonnet file in the standard form, that of jsonnetfmt.
func Format(file string, src []byte) ([]byte, error) {
	text, err := formatter.Format(file, string(src), formatter.DefaultOptions())
	if err != nil {
		return nil, diagnose(file, err)
	}
	return []byte(text), nil
}
