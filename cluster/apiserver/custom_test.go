package apiserver_test

import (
	"strings"
	"testing"
)

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example}
spec:
  group: shop.example
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        description: A Widget is what the shop sells.
        properties:
          spec:
            type: object
            required: [color]
            properties:
              color: {type: string, enum: [red, green], description: How it looks.}
              replicas: {type: integer, default: 3, minimum: 0}
              max: {type: integer}
              sizes: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, count: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf, message: parts are not taken away}]}}
              extra: {type: object, x-kubernetes-preserve-unknown-fields: true}
            x-kubernetes-validations:
            - {rule: "!has(self.max) || self.replicas <= self.max", message: more replicas than max}
            - {rule: self.color == oldSelf.color, message: the color stays}
          status:
            type: object
            properties:
              replicas: {type: integer}
              selector: {type: string}
              phase: {type: string, enum: [Made, Sold]}
              conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string}}}}
`

const lamp = `
apiVersion: shop.example/v1
kind: Widget
metadata: {name: lamp, namespace: default, labels: {kind: light}}
spec: {color: red, sizes: [s, m], parts: [{name: foot, count: 1}], extra: {free: {a: [1, 2.50]}}}
`

func TestKubectlCustom(t *testing.T) {
	h := start(t)
	k := h.kubectl(t)
	contains(t, "define", k.run(t, widgets, "apply", "-f", "-"), "widgets.shop.example created")
	contains(t, "established", k.run(t, "", "wait", "--for=condition=Established", "crd/widgets.shop.example", "--timeout=5s"), "condition met")
	contains(t, "api-resources", k.run(t, "", "api-resources", "--api-group=shop.example"), "widgets", "wd", "shop.example/v1", "true", "Widget")
	contains(t, "explain", k.run(t, "", "explain", "widget.spec"), "How it looks.", "color", "-required-", "replicas", "<integer>")
	contains(t, "create", k.run(t, lamp, "apply", "-f", "-"), "widget.shop.example/lamp created")
	contains(t, "apply again", k.run(t, lamp, "apply", "-f", "-"), "unchanged")
	field := func(path string) string { return k.run(t, "", "get", "wd", "lamp", "-o", "jsonpath="+path) }
	if got := field("{.spec.replicas} {.metadata.generation} {.spec.extra.free.a[1]}"); got != "3 1 2.5" {
		t.Errorf("default, generation and number: %q", got)
	}
	contains(t, "table", k.run(t, "", "get", "widgets"), "NAME   COLOR   READY   AGE", "lamp   red")
	contains(t, "wide", k.run(t, "", "get", "all", "-o", "wide"), "REPLICAS", "widget.shop.example/lamp")
	contains(t, "by a field", k.run(t, "", "get", "wd", "-A", "--field-selector=spec.color=red"), "lamp")
	if got := k.run(t, "", "get", "wd", "-A", "--field-selector=spec.color=green", "-o", "name"); got != "" {
		t.Errorf("of another color: %q", got)
	}
	for what, c := range map[string]struct{ from, to, want string }{
		"unknown field":  {"color: red", "color: red, hue: 3", `unknown field "spec.hue"`},
		"wrong type":     {"color: red", "color: red, replicas: many", "spec.replicas"},
		"enumeration":    {"color: red", "color: blue", "spec.color"},
		"required":       {"color: red, ", "", "spec.color"},
		"set":            {"[s, m]", "[s, s]", "spec.sizes[1]"},
		"map":            {"{name: foot, count: 1}", "{name: foot}, {name: foot}", "spec.parts[1]"},
		"rule":           {"color: red", "color: red, max: 2", "more replicas than max"},
		"name":           {"name: lamp", "name: Lamp_", "metadata.name"},
		"metadata field": {"labels:", "lables: {a: b}, labels:", "lables"},
	} {
		text := strings.Replace(strings.Replace(lamp, "name: lamp", "name: other", 1), c.from, c.to, 1)
		if c.from == "name: lamp" {
			text = strings.Replace(lamp, c.from, c.to, 1)
		}
		contains(t, what, k.fails(t, text, "create", "-f", "-"), c.want)
	}
	contains(t, "transition", k.fails(t, "", "patch", "wd", "lamp", "--type=merge", "-p", `{"spec":{"color":"green"}}`), "the color stays")
	contains(t, "transition in a keyed list", k.fails(t, "", "patch", "wd", "lamp", "--type=merge", "-p", `{"spec":{"parts":[{"name":"new","count":0},{"name":"foot","count":0}]}}`), "spec.parts[1].count", "parts are not taken away")
	k.run(t, "", "patch", "wd", "lamp", "--type=merge", "-p", `{"spec":{"parts":[{"name":"new","count":0},{"name":"foot","count":2}]},"status":{"phase":"Sold"}}`)
	if got := field("{.status.phase}{.metadata.generation}"); got != "2" {
		t.Errorf("an update of the spec: status and generation %q", got)
	}
	k.run(t, "", "patch", "wd", "lamp", "--subresource=status", "--type=merge", "-p", `{"spec":{"replicas":9},"status":{"phase":"Made","conditions":[{"type":"Ready","status":"True"}]}}`)
	if got := field("{.status.phase} {.spec.replicas} {.metadata.generation}"); got != "Made 3 2" {
		t.Errorf("an update of the status: %q", got)
	}
	contains(t, "bad status", k.fails(t, "", "patch", "wd", "lamp", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Lost"}}`), "status.phase")
	contains(t, "ready", k.run(t, "", "wait", "--for=condition=Ready", "wd/lamp", "--timeout=5s"), "condition met")
	k.run(t, "", "scale", "wd", "lamp", "--replicas=5")
	if got := field("{.spec.replicas}"); got != "5" {
		t.Errorf("scaled to %s", got)
	}
	contains(t, "strategic patch", k.fails(t, "", "patch", "wd", "lamp", "--type=strategic", "-p", `{"spec":{"color":"red"}}`), "strategic merge patch")
	contains(t, "server-side apply", k.fails(t, strings.Replace(lamp, "color: red", "color: red, replicas: 4", 1), "apply", "--server-side", "--field-manager=x", "-f", "-"), `conflicts with "kubectl" with subresource "scale"`, ".spec.replicas", `conflicts with "kubectl-patch"`, `.spec.parts[name="foot"].count`)
	k.run(t, strings.Replace(lamp, "{name: foot, count: 1}", "{name: arm, count: 1}", 1), "apply", "--server-side", "--force-conflicts", "--field-manager=x", "-f", "-")
	if got := field("{.spec.parts[*].name}"); !strings.Contains(got, "arm") || !strings.Contains(got, "new") {
		t.Errorf("a keyed list merged by two managers: %q", got)
	}
	contains(t, "describe", k.run(t, "", "describe", "wd", "lamp"), "Color:", "Phase:", "Made")
	// What a widget owns goes with it.
	uid := field("{.metadata.uid}")
	k.run(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, namespace: default, ownerReferences: [{apiVersion: shop.example/v1, kind: Widget, name: lamp, uid: `+uid+`}]}}`, "create", "-f", "-")
	contains(t, "delete", k.run(t, "", "delete", "wd", "lamp"), "deleted")
	contains(t, "owned", k.fails(t, "", "get", "cm", "owned"), "not found")
	// A finalizer holds an object, its definition and its namespace.
	k.run(t, "", "create", "ns", "far")
	k.run(t, strings.Replace(strings.Replace(lamp, "namespace: default", "namespace: far", 1), "metadata: {", "metadata: {finalizers: [shop.example/f], ", 1), "create", "-f", "-")
	k.run(t, "", "delete", "crd", "widgets.shop.example", "--wait=false")
	contains(t, "a going definition", k.fails(t, lamp, "create", "-f", "-"), "while its CustomResourceDefinition is terminating")
	k.run(t, "", "patch", "wd", "lamp", "-n", "far", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	contains(t, "gone", k.fails(t, "", "get", "crd", "widgets.shop.example"), "not found")
	if out := k.run(t, "", "api-resources"); strings.Contains(out, "widgets") {
		t.Errorf("still served:\n%s", out)
	}
}

func TestDefinitions(t *testing.T) {
	k := start(t).kubectl(t)
	for what, c := range map[string]struct{ from, to, want string }{
		"name":          {"name: widgets.shop.example", "name: other.shop.example", "metadata.name"},
		"no type":       {"color: {type: string,", "color: {", "must have a type"},
		"rule":          {"self.color == oldSelf.color", "self.colour == 1", "colour"},
		"column":        {"jsonPath: .spec.color}\n    -", "jsonPath: '.spec['}\n    -", "additionalPrinterColumns[0].jsonPath"},
		"scale":         {"specReplicasPath: .spec.replicas", "specReplicasPath: .status.x", "specReplicasPath"},
		"default":       {"default: 3", "default: many", "default"},
		"two versions":  {"  versions:\n", "  versions:\n  - {name: v0, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n", "one version of a kind is served"},
		"group":         {"group: shop.example", "group: writ.dev", "belongs to the cluster"},
		"unknown field": {"scope: Namespaced", "scope: Namespaced\n  color: red", `unknown field "spec.color"`},
		"scope":         {"scope: Namespaced", "scope: Everywhere", "spec.scope"},
		"conversion":    {"scope: Namespaced", "scope: Namespaced\n  conversion: {strategy: Webhook}", "spec.conversion.strategy"},
	} {
		contains(t, what, k.fails(t, strings.Replace(widgets, c.from, c.to, 1), "create", "-f", "-"), c.want)
	}
	k.run(t, widgets, "create", "-f", "-")
	contains(t, "the same kind", k.fails(t, strings.Replace(strings.Replace(widgets, "name: widgets.", "name: gadgets.", 1), "plural: widgets", "plural: gadgets", 1), "create", "-f", "-"), "is defined by widgets.shop.example")
	contains(t, "another scope", k.fails(t, strings.Replace(widgets, "scope: Namespaced", "scope: Cluster", 1), "apply", "-f", "-"), "spec.scope", "cannot be changed")
	k.run(t, strings.Replace(widgets, "minimum: 0", "minimum: 0, maximum: 10", 1), "apply", "-f", "-")
	contains(t, "a schema that has changed", k.fails(t, strings.Replace(lamp, "color: red", "color: red, replicas: 11", 1), "create", "-f", "-"), "spec.replicas")
	k.run(t, "", "create", "ns", "far")
	k.run(t, strings.Replace(lamp, "namespace: default", "namespace: far", 1), "create", "-f", "-")
	k.run(t, "", "delete", "ns", "far", "--wait=false")
	contains(t, "in a namespace that goes", k.fails(t, "", "get", "wd", "lamp", "-n", "far"), "not found")
	k.run(t, "", "delete", "crd", "widgets.shop.example")
	if out := k.run(t, "", "api-resources"); strings.Contains(out, "widgets") {
		t.Errorf("still served:\n%s", out)
	}
}
