package main

import (
	"bytes"
	"os"
	"testing"
)

// TestFresh fails when k8s.io/api has changed and the file has not.
func TestFresh(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../kubernetes.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("kubernetes.json is not what the program writes; run go generate ./cluster/builtin")
	}
}
