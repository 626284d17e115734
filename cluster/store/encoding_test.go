package store

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/object"
)

var sampleCommand = Command{Mutations: []Mutation{
	{Key: object.Key{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}, Object: []byte(`{"a":1}`), ExpectRevision: 1 << 40},
	{Key: object.Key{Kind: "Pod", Namespace: "default", Name: "web-1"}, Delete: true, ExpectExists: true},
	{Key: object.Key{Kind: "Namespace", Name: "default"}, ExpectAbsent: true},
}}

func TestEncoding(t *testing.T) {
	b := sampleCommand.Encode()
	got, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sampleCommand, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for n := range b {
		if _, err := Decode(b[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were accepted", n, len(b))
		}
	}
	if _, err := Decode(append(b, 0)); err == nil {
		t.Error("a byte too many was accepted")
	}
}

func TestDecodeUnknown(t *testing.T) {
	for name, b := range map[string][]byte{
		"format": {commandFormat + 1, 0},
		"flags":  {commandFormat, 1, 0x80, 0, 0, 0, 0},
	} {
		if _, err := Decode(b); !errors.Is(err, ErrUnknownFormat) {
			t.Errorf("%s: error %v, want ErrUnknownFormat", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sampleCommand.Encode())
	f.Add([]byte{commandFormat, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(c.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(c, again) {
			t.Errorf("(-first +second):\n%s", cmp.Diff(c, again))
		}
	})
}
