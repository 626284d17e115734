package apiserver_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-dev/writ/cluster/api"
)

// TestKubectlKinds applies, reads, explains and deletes one object of each kind
// served; those that only the cluster writes are refused by name.
func TestKubectlKinds(t *testing.T) {
	k := start(t).kubectl(t)
	const image = "registry.example/a@sha256:0000000000000000000000000000000000000000000000000000000000000000"
	template := fmt.Sprintf(`{metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: %q}]}}`, image)
	bodies := map[string]string{
		"Node":               `spec: {unschedulable: true}`,
		"Pod":                fmt.Sprintf(`spec: {containers: [{name: a, image: %q}]}`, image),
		"Service":            `spec: {selector: {app: a}, ports: [{port: 80}]}`,
		"EndpointSlice":      `{addressType: IPv4, endpoints: [{addresses: [192.0.2.1]}], ports: [{port: 80}]}`,
		"ConfigMap":          `data: {a: b}`,
		"Secret":             `data: {a: Yg==}`,
		"Event":              `{involvedObject: {kind: Pod, name: a, namespace: default}, reason: Test, message: text, type: Normal}`,
		"Deployment":         `spec: {selector: {matchLabels: {app: a}}, template: ` + template + `}`,
		"ReplicaSet":         `spec: {selector: {matchLabels: {app: a}}, template: ` + template + `}`,
		"Job":                fmt.Sprintf(`spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: %q}]}}}`, image),
		"Dependency":         `spec: {consumer: {kind: Deployment, name: a}, target: {service: {name: a, ports: ["80"]}}}`,
		"Release":            `spec: {revision: 1, digest: "sha256:0"}`,
		"Source":             `{spec: {repo: "https://git.example.com/a.git", interval: 5m}}`,
		"ReleaseRevision":    `spec: {release: a, revision: 1, digest: "sha256:0"}`,
		"Lease":              `spec: {holderIdentity: a, leaseDurationSeconds: 40}`,
		"Role":               `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
		"ClusterRole":        `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
		"RoleBinding":        `{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]}`,
		"ClusterRoleBinding": `{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: default, namespace: default}]}`,
		"Namespace":          ``,
		"ServiceAccount":     ``,
	}
	for _, kind := range api.Kinds {
		if kind.Kind == api.DependencyKind.Kind {
			continue // last: it needs a consumer
		}
		testKind(t, k, kind, bodies)
	}
	k.run(t, manifest(api.Deployment, bodies), "apply", "-f", "-")
	testKind(t, k, api.DependencyKind, bodies)
}

// nameOf is a name that an object of a kind may have.
func nameOf(kind api.Kind) string {
	if kind.Kind == api.RevisionKind.Kind {
		return "a.1" // the release and the revision
	}
	return "a"
}

// manifest is one object of a kind.
func manifest(kind api.Kind, bodies map[string]string) string {
	meta := "name: " + nameOf(kind)
	if kind.Namespaced {
		meta += ", namespace: default"
	}
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {%s}\n", kind.APIVersion(), kind.Kind, meta)
	body := bodies[kind.Kind]
	if strings.HasPrefix(body, "{") {
		// A flow mapping of several fields: one a line.
		var lines []string
		depth, from := 0, 1
		for i := 1; i < len(body); i++ {
			switch c := body[i]; {
			case c == '{' || c == '[':
				depth++
			case depth == 0 && (c == ',' || c == '}'):
				lines = append(lines, strings.TrimSpace(body[from:i]))
				from = i + 1
			case c == '}' || c == ']':
				depth--
			}
		}
		body = strings.Join(lines, "\n")
	}
	return text + body + "\n"
}

func testKind(t *testing.T, k *kubectl, kind api.Kind, bodies map[string]string) {
	t.Run(kind.Kind, func(t *testing.T) {
		resource := kind.Resource
		if kind.Group != "" {
			resource += "." + kind.Group
		}
		text, name := manifest(kind, bodies), nameOf(kind)
		if kind.System {
			if said := k.fails(t, text, "apply", "-f", "-"); !strings.Contains(said, kind.Kind) && !strings.Contains(said, kind.Resource) {
				t.Errorf("a refusal that names no %s: %s", kind.Kind, said)
			}
			k.run(t, "", "get", resource, "-A")
			return
		}
		if out := k.run(t, text, "apply", "-f", "-"); !strings.Contains(out, "/"+name+" created") {
			t.Errorf("apply: %s", out)
		}
		if out := k.run(t, text, "apply", "-f", "-"); !strings.Contains(out, "/"+name+" unchanged") && kind.Kind != "EndpointSlice" { // defaults inside of its lists look like a change to kubectl
			t.Errorf("apply again: %s", out)
		}
		args := []string{"get", resource, name}
		if kind.Namespaced {
			args = append(args, "-n", "default")
		}
		if out := k.run(t, "", args...); !strings.HasPrefix(out, "NAME") && !strings.HasPrefix(out, "LAST SEEN") {
			t.Errorf("get: %s", out)
		}
		k.run(t, "", "explain", resource)
		args[0] = "delete"
		if out := k.run(t, "", append(args, "--wait=false")...); !strings.Contains(out, strconv.Quote(name)+" deleted") {
			t.Errorf("delete: %s", out)
		}
	})
}
