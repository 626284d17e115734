package admission

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

func decodes(k api.Kind, o object.Object) error { return json.Unmarshal(o.JSON(), k.New()) }

// lines formats problems for comparison.
func lines(ps []Problem) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.String())
	}
	return out
}

func TestStrict(t *testing.T) {
	tests := []struct {
		name string
		kind api.Kind
		json string
		want []string
	}{
		{"unknown field, misspelt", api.Deployment, `{"spec":{"replica":1}}`,
			[]string{`.spec.replica: spec has no field "replica"; did you mean "replicas"?`}},
		{"unknown field, case", api.Deployment, `{"spec":{"Replicas":1}}`,
			[]string{`.spec.Replicas: spec has no field "Replicas"; did you mean "replicas"?`}},
		{"unknown field, swapped letters", api.Pod, `{"spec":{"containers":[{"iamge":"x"}]}}`,
			[]string{`.spec.containers[0].iamge: containers has no field "iamge"; did you mean "image"?`}},
		{"unknown field, nothing near", api.DependencyKind, `{"spec":{"consumer":{"xyzzy":1}}}`,
			[]string{`.spec.consumer.xyzzy: consumer has no field "xyzzy"; it has: kind, name`}},
		{"unknown at the top", api.ConfigMap, `{"dat":{}}`,
			[]string{`.dat: a ConfigMap has no field "dat"; did you mean "data"?`}},
		{"label that is a boolean", api.Pod, `{"metadata":{"labels":{"release":false}}}`,
			[]string{`.metadata.labels.release: false is a boolean, and labels are strings; quote it: "false"`}},
		{"annotation that is a number", api.Pod, `{"metadata":{"annotations":{"a/b":1.10}}}`,
			[]string{`.metadata.annotations["a/b"]: 1.10 is a number, and annotations are strings; quote it: "1.10"`}},
		{"env value", api.Pod, `{"spec":{"containers":[{"env":[{"name":"PORT","value":8080}]}]}}`,
			[]string{`.spec.containers[0].env[0].value: 8080 is a number, and values are strings; quote it: "8080"`}},
		{"string for a list", api.Pod, `{"spec":{"containers":[{"command":"sh"}]}}`,
			[]string{`.spec.containers[0].command: must be a list, not the string "sh"; put it in a list: [ ]`}},
		{"object for a list", api.Pod, `{"spec":{"containers":{"name":"x"}}}`,
			[]string{`.spec.containers: must be a list, not an object; put it in a list: [ ]`}},
		{"list for an object", api.Pod, `{"spec":[]}`, []string{`.spec: must be an object, not a list`}},
		{"null in a list", api.Pod, `{"spec":{"containers":[null]}}`,
			[]string{`.spec.containers[0]: null is not allowed in a list; remove it`}},
		{"null is absent", api.Deployment, `{"spec":{"replicas":null,"template":null}}`, nil},
		{"quoted number", api.Deployment, `{"spec":{"replicas":"3"}}`,
			[]string{`.spec.replicas: must be a number, not the string "3"; write 3, without quotes`}},
		{"fraction", api.Deployment, `{"spec":{"replicas":1.5}}`,
			[]string{`.spec.replicas: must be a whole number, not 1.5`}},
		{"float that is whole", api.Deployment, `{"spec":{"replicas":1e3}}`,
			[]string{`.spec.replicas: must be a whole number, not 1e3; write 1000`}},
		{"too large", api.Deployment, `{"spec":{"replicas":3000000000}}`,
			[]string{`.spec.replicas: 3000000000 does not fit: the number must have at most 32 bits`}},
		{"quoted boolean", api.ConfigMap, `{"immutable":"yes"}`,
			[]string{`.immutable: must be true or false, not the string "yes"; write true, without quotes`}},
		{"int or string", api.Service, `{"spec":{"ports":[{"targetPort":true},{"targetPort":"http"},{"targetPort":80}]}}`,
			[]string{`.spec.ports[0].targetPort: must be a number or a string, not the boolean true`}},
		{"quantity", api.Pod, `{"spec":{"containers":[{"resources":{"requests":{"memory":"128MB","cpu":0.5}}}]}}`,
			[]string{`.spec.containers[0].resources.requests.memory: "128MB" is not a quantity; write 128M`}},
		{"time", api.EventKind, `{"firstTimestamp":"yesterday","eventTime":"2026-01-31T12:00:00.000000Z"}`,
			[]string{`.firstTimestamp: "yesterday" is not a time such as 2026-01-31T12:00:00Z`}},
		{"base64", api.Secret, `{"data":{"a":"%%"}}`,
			[]string{`.data.a: must be base64; encode it, or put the plain text in stringData`}},
		{"enumeration", api.Service, `{"spec":{"ports":[{"protocol":"tcp"}]}}`,
			[]string{`.spec.ports[0].protocol: "tcp" is not one of TCP, UDP, SCTP; did you mean "TCP"?`}},
		{"ports by name or number", api.DependencyKind, `{"spec":{"target":{"service":{"ports":["a",80,70000,true]}}}}`,
			[]string{
				`.spec.target.service.ports[2]: 70000 is not a port number; use 1 to 65535, or a port's name`,
				`.spec.target.service.ports[3]: must be a port's name or number, not the boolean true`,
			}},
		{"all problems, in order", api.Deployment, `{"spec":{"zzzzzzzz":1,"replicas":"x"},"metadata":{"labels":{"a":1}}}`,
			[]string{
				`.metadata.labels.a: 1 is a number, and labels are strings; quote it: "1"`,
				`.spec.replicas: must be a number, not the string "x"`,
				`.spec.zzzzzzzz: spec has no field "zzzzzzzz"; it has: minReadySeconds, paused, progressDeadlineSeconds, replicas, revisionHistoryLimit, selector, strategy, template`,
			}},
		{"inline structs and raw JSON", api.Pod, `{"metadata":{"managedFields":[{"fieldsV1":{"f:x":{}}}]},"spec":{"volumes":[{"name":"a","emptyDir":{}}]}}`, nil},
		{"duplicate keys", api.ConfigMap, `{"data":{"a":"1","b":"2","a":"3"}}`,
			[]string{`.data.a: the key occurs twice; remove one`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(StrictJSON(tt.kind, []byte(tt.json)))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestStrictBoundsItsReport(t *testing.T) {
	doc := `{"data":{` + strings.TrimSuffix(strings.Repeat(`"a":1,`, 5000), ",") + `}}`
	if n := len(StrictJSON(api.ConfigMap, []byte(doc))); n > 2*maxProblems {
		t.Errorf("%d problems reported", n)
	}
}

// TestEveryKindHasASchema would also find a type that recurses for ever.
func TestEveryKindHasASchema(t *testing.T) {
	for _, k := range api.Kinds {
		if ps := StrictTree(k, map[string]any{"apiVersion": k.APIVersion(), "kind": k.Kind, "metadata": map[string]any{"name": "x"}}); len(ps) != 0 {
			t.Errorf("%s: %v", k.Kind, ps)
		}
	}
}
