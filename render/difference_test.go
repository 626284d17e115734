package render

import (
	"fmt"
	"testing"
)

func TestCompare(t *testing.T) {
	cm := func(name, data string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"n"},"data":%s}`, name, data)
	}
	old := &Bundle{Documents: documents(t, cm("a", `{"x":"1"}`), cm("b", `{"l":"1","m":"2"}`), cm("c", `{}`))}
	same := &Bundle{Documents: documents(t, cm("a", `{"x":"1"}`), cm("b", `{"m":"2","l":"1"}`), cm("c", `{}`))}
	if d := Compare(old, same); len(d) != 0 {
		t.Errorf("equal bundles differ: %+v", d)
	}
	changed := &Bundle{Documents: documents(t, cm("a", `{"x":"1"}`), cm("b", `{"m":"3","k":"1","l":"1"}`), cm("d", `{}`))}
	var got []string
	for _, d := range Compare(old, changed) {
		got = append(got, fmt.Sprintf("%s %s %v %v", d.Key.Name, d.Path, d.Old != nil, d.New != nil))
	}
	want := []string{"b .data.k false true", "c  true false", "d  false true"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
