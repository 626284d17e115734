package expression_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/expression"
	"github.com/writ-dev/writ/cluster/object"
)

func decode(t testing.TB, text string) any {
	t.Helper()
	v, err := object.Unmarshal([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEvaluate(t *testing.T) {
	const doc = `{"n": 3, "f": 1.5, "big": 12345678901234567890, "s": "web", "l": [1, 2, 3], "names": ["b", "a"],
		"m": {"z": 1, "y": 2, "x": 3}, "cpu": "1500m", "url": "https://u@example.com:8443/a%20b?q=1&q=2", "none": null}`
	for _, c := range []struct{ text, want string }{
		{`string(x.n + 1)`, "4"},
		{`string(x.n == 3.0)`, "true"},
		{`string(x.f * 2.0)`, "3"},
		{`string(x.big > 1e19)`, "true"},
		{`x.m.map(k, k).join()`, "xyz"},
		{`x.m.transformList(k, v, string(v)).join()`, "321"},
		{`string(has(x.nothing))`, "false"},
		{`x.?nothing.orValue("else")`, "else"},
		{`string(x.l.sum())`, "6"},
		{`string(x.l.max() - x.l.min())`, "2"},
		{`string(x.names.isSorted())`, "false"},
		{`string(x.names.indexOf("a"))`, "1"},
		{`string(x.l.lastIndexOf(9))`, "-1"},
		{`"abc123def45".find("[0-9]+")`, "123"},
		{`"abc123def45".findAll("[0-9]+").join(",")`, "123,45"},
		{`string("abc123def45".findAll("[0-9]+", 1).size())`, "1"},
		{`string(quantity(x.cpu).isLessThan(quantity("2")))`, "true"},
		{`string(quantity(x.cpu).add(quantity("500m")).asApproximateFloat())`, "2"},
		{`string(quantity("1Ki").sub(24) == quantity("1000"))`, "true"},
		{`string(isQuantity("1 GB"))`, "false"},
		{`url(x.url).getHostname() + " " + url(x.url).getPort() + " " + url(x.url).getEscapedPath() + " " + url(x.url).getQuery()["q"][1]`, "example.com 8443 /a%20b 2"},
		{`string(isURL("not a url"))`, "false"},
		{`string(cidr("10.0.0.0/8").containsIP("10.1.2.3"))`, "true"},
		{`string(format.dns1123Label().validate("A").hasValue())`, "true"},
		{`string(format.named("labelValue").value().validate("ok").hasValue())`, "false"},
		{`string(format.named("nothing").hasValue())`, "false"},
		{`string(semver("1.10.0").isGreaterThan(semver("1.9.9")) && semver("1.0.0-rc.2").isLessThan(semver("1.0.0-rc.10")) && semver("1.0.0-rc.1").isLessThan(semver("1.0.0")))`, "true"},
		{`string(semver("v1.02", true).minor()) + string(isSemver("v1.02")) + string(semver("1.0.0+a") == semver("1.0.0+b"))`, "2falsetrue"},
		{`x.s.upperAscii()`, "WEB"},
	} {
		t.Run(c.text, func(t *testing.T) {
			p, err := expression.Compile(c.text, expression.Options{
				Variables: []expression.Variable{{Name: "x", Type: expression.AnyType}}, Result: expression.StringType,
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Text(t.Context(), map[string]any{"x": decode(t, doc)}, nil)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// person is a type with a member that expressions must write otherwise.
func person() *expression.Type {
	return &expression.Type{
		Kind: expression.Record, Name: "person",
		Fields: map[string]*expression.Type{
			"age": {Kind: expression.Int}, "__namespace__": expression.StringType, "weight": {Kind: expression.Double},
			"born": {Kind: expression.Timestamp}, "wait": {Kind: expression.Duration}, "key": {Kind: expression.Bytes},
			"tags": {Kind: expression.Map, Elem: expression.StringType}, "friends": expression.ListOf(expression.StringType),
		},
		Members: map[string]string{"__namespace__": "namespace"},
	}
}

func TestTyped(t *testing.T) {
	self := person().Value(decode(t, `{"age": 7, "namespace": "n", "weight": 3, "born": "2026-01-31T12:00:00Z", "wait": "90s", "key": "aGk=",
		"tags": {"a": "b"}, "friends": ["x"], "unknown": 1}`))
	for _, text := range []string{
		`self.age == 7 && self.__namespace__ == "n"`, `self.weight == 3.0`, `self.born.getFullYear() == 2026`,
		`self.wait > duration("1m")`, `self.key == b"hi"`, `self.tags.a == "b" && self.friends[0] == "x"`,
		`has(self.age) && !has(self.tags.c)`, `self == self`,
	} {
		p, err := expression.Compile(text, expression.Options{Variables: []expression.Variable{{Name: "self", Type: person()}}, Result: expression.BoolType})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := p.Bool(t.Context(), map[string]any{"self": self}, nil); err != nil || !got {
			t.Errorf("%s is %t, %v", text, got, err)
		}
	}
}

func TestWrongText(t *testing.T) {
	for _, c := range []struct {
		text, want   string
		line, column int
	}{
		{"self.age ==", "syntax error: mismatched input the end", 1, 12},
		{"self.age\n  == 'x'", "no matching overload", 2, 3},
		{"self.nothing == 1", "undefined field 'nothing'", 1, 5},
		{"other.age == 1", "undeclared reference to 'other'", 1, 1},
		{"self.age", "gives a int and must give a bool", 1, 1},
		{strings.Repeat("(", 5000), "", 1, 0},
		{strings.Repeat("1+", 60_000) + "1 == 1", "size exceeds limit", 0, 0},
	} {
		_, err := expression.Compile(c.text, expression.Options{Variables: []expression.Variable{{Name: "self", Type: person()}}, Result: expression.BoolType})
		var list expression.Errors
		if !errors.As(err, &list) || len(list) == 0 || !strings.Contains(list[0].Message, c.want) {
			t.Errorf("%.30s: got %v, want %q", c.text, err, c.want)
			continue
		}
		if c.column > 0 && (list[0].Line != c.line || list[0].Column != c.column) {
			t.Errorf("%s: at %d:%d, want %d:%d", c.text, list[0].Line, list[0].Column, c.line, c.column)
		}
	}
}

func TestBounded(t *testing.T) {
	p, err := expression.Compile("l.all(a, l.all(b, l.all(c, l.all(d, a + b + c + d >= 0))))", expression.Options{
		Variables: []expression.Variable{{Name: "l", Type: expression.AnyType}}, Result: expression.BoolType,
	})
	if err != nil {
		t.Fatal(err)
	}
	var l []any
	for range 200 {
		l = append(l, 1)
	}
	start := time.Now()
	if _, err := p.Bool(t.Context(), map[string]any{"l": l}, nil); !errors.Is(err, expression.ErrCost) {
		t.Errorf("got %v, want %v", err, expression.ErrCost)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Bool(ctx, map[string]any{"l": l}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the context's end", err)
	}
}

func TestUses(t *testing.T) {
	p, err := expression.Compile("edges.exists(e, e.x == 1)", expression.Options{
		Variables: []expression.Variable{{Name: "edge", Type: expression.AnyType}, {Name: "edges", Type: expression.ListOf(expression.AnyType)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Uses("edge") || !p.Uses("edges") {
		t.Errorf("edge %t, edges %t", p.Uses("edge"), p.Uses("edges"))
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"x.a == 1", "x.all(y, y > 0)", "'a'.find('[')", "quantity('1') == x", "format.uri().validate(x)", "[1,2].sum()", "\"\\u"} {
		f.Add(s, `{"a": [1, null, "s", 1e999]}`)
	}
	f.Fuzz(func(t *testing.T, text, doc string) {
		v, err := object.Unmarshal([]byte(doc))
		if err != nil {
			return
		}
		p, err := expression.Compile(text, expression.Options{Variables: []expression.Variable{{Name: "x", Type: expression.AnyType}}, Cost: 10_000})
		if err == nil {
			_, _ = p.Bool(t.Context(), map[string]any{"x": v}, nil)
		}
	})
}
