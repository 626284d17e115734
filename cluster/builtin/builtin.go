// Package builtin holds Kubernetes' own kinds as data: kubernetes.json has, for
// every kind of the release of k8s.io/api in go.mod, its fields in the keywords
// of OpenAPI v3. The program in gen makes it of the Kubernetes Go types and of
// what their sources say in comments, which the running program cannot see:
// enumerations, how lists are merged, what is replaced as a whole.
package builtin

import _ "embed"

//go:generate go run ./gen -out kubernetes.json

//go:embed kubernetes.json
var data []byte

// JSON is the document: {"kinds": [...], "types": {name: schema}}. A kind names
// its type in "schema"; types refer to one another with "$ref". It must not be
// changed.
func JSON() []byte { return data }
