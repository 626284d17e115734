package apply

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/writ-dev/writ/apply/secret"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render"
)

// maxDocuments bounds the documents of a release when unpacked, in bytes.
const maxDocuments = 64 << 20

// pack encodes the documents for a Release: the values of Secrets are blank,
// since only the names of their keys matter later.
func pack(b *render.Bundle) ([]byte, error) {
	docs := make([]map[string]any, len(b.Documents))
	for i, d := range b.Documents {
		docs[i] = d.Object.Tree()
		if secret.Is(d.Object.Key()) {
			docs[i] = secret.Hide(secret.Fold(docs[i]), func(string) string { return "" })
		}
	}
	text, err := object.Marshal(docs)
	if err != nil {
		return nil, err
	}
	if len(text) > maxDocuments {
		return nil, fmt.Errorf("the documents take %d bytes, more than the %d that a release can hold", len(text), maxDocuments)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func unpack(packed []byte) ([]object.Object, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack documents: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxDocuments+1))
	if err != nil {
		return nil, fmt.Errorf("unpack documents: %w", err)
	}
	if len(text) > maxDocuments {
		return nil, fmt.Errorf("unpack documents: more than %d bytes", maxDocuments)
	}
	var docs []object.Object
	if err := json.Unmarshal(text, &docs); err != nil {
		return nil, fmt.Errorf("unpack documents: %w", err)
	}
	return docs, nil
}

// publicInputs are the bundle's inputs, without those that became the value of
// a Secret.
func publicInputs(b *render.Bundle) map[string]string {
	values := map[string]bool{}
	for _, d := range b.Documents {
		if secret.Is(d.Object.Key()) {
			secret.Values(d.Object.Tree(), values)
		}
	}
	out := maps.Clone(b.Inputs)
	for name, value := range out {
		if values[strings.TrimSpace(value)] {
			out[name] = "(secret)"
		}
	}
	return out
}
