package lang_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-dev/writ/lang"
)

const sample = `{"a": [1, -2.5e10, "x\ny", true, null, {}, []], "b": {"c": {"d": "é"}}}`

func TestBinary(t *testing.T) {
	v, err := lang.ParseJSON("dir/a.json", []byte(strings.Repeat("\n", 300)+sample))
	if err != nil {
		t.Fatal(err)
	}
	v.Fields[0].Value.Pos.File = "other.json"
	b := v.AppendBinary(nil)
	got, err := lang.ParseBinary(b)
	if err != nil {
		t.Fatal(err)
	}
	// JSON tells no empty list from none.
	want, _ := json.Marshal(v)
	have, _ := json.Marshal(got)
	if string(want) != string(have) {
		t.Errorf("got %s\nwant %s", have, want)
	}
	for i := range b {
		if _, err := lang.ParseBinary(b[:i]); err == nil {
			t.Errorf("the first %d of %d bytes are taken for a value", i, len(b))
		}
	}
}

// FuzzBinary: no input is a panic, and what is a value is the same again.
func FuzzBinary(f *testing.F) {
	v, err := lang.ParseJSON("a.json", []byte(sample))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(v.AppendBinary(nil))
	f.Add([]byte{4, 0, 0, 255, 255, 255, 255, 15})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := lang.ParseBinary(b)
		if err != nil {
			return
		}
		again, err := lang.ParseBinary(v.AppendBinary(nil))
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("%+v became %+v, %v", v, again, err)
		}
	})
}

func BenchmarkBinary(b *testing.B) {
	v, err := lang.ParseJSON("a.json", []byte("["+strings.Repeat(sample+",", 200)+sample+"]"))
	if err != nil {
		b.Fatal(err)
	}
	data := v.AppendBinary(nil)
	text, _ := json.Marshal(v)
	b.Run("binary", func(b *testing.B) {
		for b.Loop() {
			if _, err := lang.ParseBinary(v.AppendBinary(nil)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(data)), "bytes")
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			text, _ := json.Marshal(v)
			var w lang.Value
			if err := json.Unmarshal(text, &w); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(text)), "bytes")
	})
}
