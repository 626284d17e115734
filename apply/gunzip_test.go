package apply_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

func gunzip(t testing.TB, packed []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
