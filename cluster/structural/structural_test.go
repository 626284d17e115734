package structural_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/structural"
)

func tree(t testing.TB, text string) map[string]any {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	v, err := object.Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := v.(map[string]any)
	return m
}

// definition is a CustomResourceDefinition with a schema of spec.
func definition(spec string) string {
	return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, scope: Namespaced, " +
		"names: {plural: things, kind: Thing}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: " + spec + "}}}}]}}"
}

func lines(problems []api.Problem) string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Code+" "+p.String())
	}
	return strings.Join(out, "\n")
}

// check is what a cluster does with a new custom resource.
func check(t testing.TB, schema, spec string) string {
	t.Helper()
	d, problems := structural.ParseDefinition(tree(t, definition(schema)))
	if len(problems) > 0 {
		t.Fatalf("the definition is wrong:\n%s", lines(problems))
	}
	v, _ := d.Version("v1")
	full := v.Schema.WithDefaults(tree(t, "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, labels: {x: y}}, spec: "+spec+"}"))
	problems = v.Schema.Validate("Thing", full)
	if len(problems) == 0 {
		var err error
		if problems, err = v.Schema.Evaluate(t.Context(), full, nil); err != nil {
			t.Fatal(err)
		}
	}
	return lines(problems)
}

func TestCustomResource(t *testing.T) {
	for _, c := range []struct{ name, schema, spec, want string }{
		{"good", "{type: object, required: [size], properties: {size: {type: integer, minimum: 1}, name: {type: string, pattern: '^a'}}}", "{size: 3, name: abc}", ""},
		{"unknown field", "{type: object, properties: {size: {type: integer}}}", "{sise: 1}", `UnknownField .spec.sise: spec has no field "sise"; did you mean "size"?`},
		{"unknown fields kept", "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}", "{b: 1, a: 2}", `FieldValueTypeInvalid .spec.a: must be a string, not the number 2; quote it: "2"`},
		{"map", "{type: object, additionalProperties: {type: integer}}", "{a: 1, b: x}", `FieldValueTypeInvalid .spec.b: must be a number, not the string "x"`},
		{"map of anything", "{type: object, additionalProperties: true}", "{a: 1, b: {c: []}}", ""},
		{"required", "{type: object, required: [a], properties: {a: {type: string}}}", "{}", `FieldValueRequired .spec.a: is required`},
		{"required with a default", "{type: object, required: [a], properties: {a: {type: string, default: x, enum: [x, w]}}}", "{}", ""},
		{"enumeration", "{type: object, properties: {a: {type: string, enum: [Red, Green]}}}", "{a: red}", `FieldValueNotSupported .spec.a: "red" is not one of Red, Green; did you mean "Red"?`},
		{"pattern", "{type: object, properties: {a: {type: string, pattern: '^[a-z]+$'}}}", "{a: 'A'}", `FieldValueInvalid .spec.a: "A" does not match the pattern ^[a-z]+$`},
		{"numbers", "{type: object, properties: {a: {type: integer, minimum: 1, maximum: 5}, b: {type: number, minimum: 0, exclusiveMinimum: true}, c: {type: integer, multipleOf: 3}}}", "{a: 6, b: 0, c: 4}",
			"FieldValueInvalid .spec.a: must be at most 5, but is 6\nFieldValueInvalid .spec.b: must be more than 0, but is 0\nFieldValueInvalid .spec.c: must be a multiple of 3, but is 4"},
		{"large numbers", "{type: object, properties: {a: {type: integer, format: int64}, b: {type: integer, format: int32}}}", "{a: 9223372036854775807, b: 2147483648}", `FieldValueInvalid .spec.b: 2147483648 does not fit: the number must have at most 32 bits`},
		{"whole numbers", "{type: object, properties: {a: {type: integer}}}", "{a: 1.5}", `FieldValueTypeInvalid .spec.a: must be a whole number, not 1.5`},
		{"lengths", "{type: object, maxProperties: 2, properties: {a: {type: string, maxLength: 2}, b: {type: array, minItems: 2, items: {type: string}}}}", "{a: äöü, b: [x]}",
			"FieldValueInvalid .spec.a: has 3 characters and must have at most 2\nFieldValueInvalid .spec.b: has 1 elements and must have at least 2"},
		{"list of maps", "{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, kind], items: {type: object, required: [name], properties: {name: {type: string}, kind: {type: string, default: x}}}}}}",
			"{l: [{name: a}, {name: a, kind: w}, {name: a, kind: x}]}", `FieldValueDuplicate .spec.l[2]: name "a" and kind "x" is in the list twice, first as l[0]; remove one, or give it another name`},
		{"set", "{type: object, properties: {l: {type: array, x-kubernetes-list-type: set, items: {type: number}}}}", "{l: [1, 2, 1.0]}", `FieldValueDuplicate .spec.l[2]: the number 1 is in the list twice, first as l[0]; remove one`},
		{"int or string", "{type: object, properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}, b: {x-kubernetes-int-or-string: true}}}", "{a: 50%, b: true}", `FieldValueTypeInvalid .spec.b: must be a number or a string, not the boolean true`},
		{"one of", "{type: object, oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}}", "{a: x, b: w}", `FieldValueInvalid .spec: fits 2 alternatives and must fit exactly one`},
		{"any of", "{type: object, anyOf: [{required: [a]}, {properties: {b: {minLength: 3}}, required: [b]}], properties: {a: {type: string}, b: {type: string}}}", "{b: w}", `FieldValueInvalid .spec: fits none of the alternatives: .a is required; or .b has 1 characters and must have at least 3`},
		{"all of", "{type: object, allOf: [{properties: {a: {maxLength: 1}}}], properties: {a: {type: string}}}", "{a: xx}", `FieldValueInvalid .spec.a: has 2 characters and must have at most 1`},
		{"not", "{type: object, properties: {a: {type: string, not: {enum: [bad]}}}}", "{a: bad}", `FieldValueInvalid .spec.a: is what the schema forbids here (not)`},
		{"embedded object", "{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}", "{kind: Pod}", `FieldValueRequired .spec.apiVersion: is required: this is a whole API object`},
		{"null", "{type: object, properties: {a: {type: string}, l: {type: array, items: {type: string, nullable: true}}}}", "{a: null, l: [null]}", ""},
		{"formats", "{type: object, properties: {a: {type: string, format: ipv4}, b: {type: string, format: date-time}, c: {type: string, format: uuid}, d: {type: string, format: nobody-knows}, e: {type: string, format: cidr}, f: {type: string, format: uri}}}",
			"{a: '::1', b: yesterday, c: x, d: x, e: 10.0.0.0, f: 'no scheme'}", "FieldValueInvalid .spec.a: \"::1\" is not an IPv4 address\nFieldValueInvalid .spec.b: \"yesterday\" is not a time such as 2026-01-31T12:00:00Z\n" +
				"FieldValueInvalid .spec.c: \"x\" is not a UUID\nFieldValueInvalid .spec.e: \"10.0.0.0\" is not an address range such as 10.0.0.0/8\nFieldValueInvalid .spec.f: \"no scheme\" is not a URI"},

		{"rule", "{type: object, properties: {min: {type: integer}, max: {type: integer}}, x-kubernetes-validations: [{rule: self.min <= self.max}]}", "{min: 2, max: 1}", `Rule .spec: does not satisfy the rule: self.min <= self.max`},
		{"rule with a message", "{type: object, properties: {num: {type: integer}}, x-kubernetes-validations: [{rule: self.num < 5, message: too large, messageExpression: \"'%d is too large'.format([self.num])\", fieldPath: .num}]}", "{num: 7}", `Rule .spec.num: 7 is too large`},
		{"rule in a list", "{type: object, properties: {l: {type: array, items: {type: object, properties: {num: {type: integer}}, x-kubernetes-validations: [{rule: self.num > 0, message: must be positive}]}}}}", "{l: [{num: 1}, {num: 0}]}", `Rule .spec.l[1]: must be positive`},
		{"rule sees defaults", "{type: object, properties: {num: {type: integer, default: 3}}, x-kubernetes-validations: [{rule: self.num == 3}]}", "{}", ""},
		{"rule about a change", "{type: object, properties: {num: {type: integer}}, x-kubernetes-validations: [{rule: self.num == oldSelf.num}]}", "{num: 1}", ""},
		{"rule about a change or something new", "{type: object, properties: {num: {type: integer}}, x-kubernetes-validations: [{rule: 'oldSelf.hasValue() || self.num == 1', optionalOldSelf: true, message: begin with 1}]}", "{num: 2}", "Rule .spec: begin with 1"},
		{"rule with an error", "{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: self.a == 'x'}]}", "{}", `Rule .spec: the rule cannot be evaluated: no such key: a`},
		{"rule on escaped names", "{type: object, properties: {namespace: {type: string}, a-b: {type: integer}, m: {type: object, additionalProperties: {type: string}}, t: {type: string, format: date-time}}, x-kubernetes-validations: [{rule: \"self.__namespace__ == 'ns' && self.a__dash__b == 1 && self.m['x-y'] == 'z' && self.t < timestamp('2027-01-01T00:00:00Z')\"}]}", "{namespace: ns, a-b: 1, m: {x-y: z}, t: '2026-01-31T12:00:00Z'}", ""},
		{"rule that costs too much", "{type: object, properties: {l: {type: array, items: {type: integer}}}, x-kubernetes-validations: [{rule: 'self.l.all(a, self.l.all(b, self.l.all(c, a + b + c > 0)))'}]}", "{l: [" + strings.Repeat("1, ", 300) + "1]}", `Rule .spec: the rule cannot be evaluated: the expression costs too much`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := check(t, c.schema, c.spec); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestDefinition(t *testing.T) {
	const at = ".spec.versions[0].schema.openAPIV3Schema.properties.spec"
	good := definition("{type: object}")
	for _, c := range []struct{ name, doc, want string }{
		{"good", good, ""},
		{"name", strings.Replace(good, "things.example.com", "thing.example.com", 1), "FieldValueInvalid .metadata.name: must be the plural and the group; write things.example.com"},
		{"no storage", strings.Replace(good, "storage: true", "storage: false", 1), "FieldValueInvalid .spec.versions: exactly one version must be the stored one, but 0 are; mark one version with storage: true"},
		{"no schema", strings.Replace(good, "openAPIV3Schema", "x", 1), "FieldValueInvalid .spec.versions[0].schema.openAPIV3Schema: is required; describe the kind; type: object is the least"},
		{"no type", definition("{properties: {a: {}}}"), "FieldValueInvalid " + at + ": a field must have a type; add a type, or x-kubernetes-preserve-unknown-fields: true\n" +
			"FieldValueInvalid " + at + ".properties.a: a field must have a type; add a type, or x-kubernetes-preserve-unknown-fields: true"},
		{"unknown type", definition("{type: int}"), `FieldValueInvalid ` + at + `.type: "int" is not a type; use object, array, string, integer, number or boolean`},
		{"list without elements", definition("{type: array}"), "FieldValueInvalid " + at + ": a list must say what its elements are; describe the elements under items"},
		{"pattern", definition("{type: string, pattern: '('}"), "FieldValueInvalid " + at + ".pattern: error parsing regexp: missing closing ): `(`; write a regular expression of RE2"},
		{"default", definition("{type: object, properties: {num: {type: integer, default: x}}}"), `FieldValueInvalid ` + at + `.properties.num.default: must be a number, not the string "x"`},
		{"reference", definition("{$ref: '#/definitions/x'}"), `FieldValueInvalid ` + at + `["$ref"]: a schema cannot refer to another; write the schema here`},
		{"type inside of any of", definition("{type: object, anyOf: [{type: object}]}"), "FieldValueInvalid " + at + ".anyOf[0].type: is not allowed here; write it outside of allOf, anyOf, oneOf and not"},
		{"key of a list", definition("{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object}}"), `FieldValueInvalid ` + at + `["x-kubernetes-list-map-keys"][0]: the elements have no member "id"`},
		{"rule", definition("{type: object, properties: {num: {type: integer}}, x-kubernetes-validations: [{rule: self.m > 1}, {rule: self.num}, {rule: 'self.num > '}]}"),
			`FieldValueInvalid ` + at + `["x-kubernetes-validations"][0].rule: column 5 of the expression: undefined field 'm'` + "\n" +
				`FieldValueInvalid ` + at + `["x-kubernetes-validations"][1].rule: column 1 of the expression: gives a int and must give a bool` + "\n" +
				`FieldValueInvalid ` + at + `["x-kubernetes-validations"][2].rule: column 12 of the expression: syntax error: mismatched input the end`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := structural.ParseDefinition(tree(t, c.doc))
			if got := lines(problems); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestEvaluateEnds(t *testing.T) {
	d, _ := structural.ParseDefinition(tree(t, definition("{type: object, properties: {l: {type: array, items: {type: integer}}}, x-kubernetes-validations: [{rule: 'self.l.all(a, self.l.all(b, a + b > 0))'}]}")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Versions[0].Schema.Evaluate(ctx, tree(t, "{spec: {l: ["+strings.Repeat("1, ", 300)+"1]}}"), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// FuzzDefinition takes any document for a definition, and any for a custom
// resource of it.
func FuzzDefinition(f *testing.F) {
	for _, schema := range []string{
		"{type: object, properties: {a: {type: string, pattern: '^a'}}}", "{type: array, items: {type: object}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]}",
		"{x-kubernetes-int-or-string: true, anyOf: [{type: integer}]}", "{type: object, x-kubernetes-validations: [{rule: 'self == self'}], default: {}}", "{type: number, multipleOf: 0.1}",
	} {
		f.Add(string(mustJSON(f, definition(schema))), `{"spec":{"a":"b","l":[1,null,1e99999]}}`)
	}
	f.Fuzz(func(t *testing.T, text, doc string) {
		v, err := object.Unmarshal([]byte(text))
		m, ok := v.(map[string]any)
		if err != nil || !ok {
			return
		}
		o, err := object.Unmarshal([]byte(doc))
		if err != nil {
			return
		}
		d, _ := structural.ParseDefinition(m)
		for _, v := range d.Versions {
			full := v.Schema.WithDefaults(o)
			_ = v.Schema.Validate("Thing", full)
			_, _ = v.Schema.Evaluate(t.Context(), full, nil)
		}
	})
}

func mustJSON(t testing.TB, text string) []byte {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
