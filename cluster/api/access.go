package api

// AccessReport is what a node's agent has counted since it started: the
// packets of every declared access, both directions together. It is served,
// not stored, as the subresource "access" of a Node.
type AccessReport struct {
	Node   string        `json:"node"`
	Access []AccessCount `json:"access"`
}

// AccessCount is the traffic of one granted access. Consumer is a workload in
// Namespace, such as "Deployment/web"; Target is "namespace/service:port".
// Packets are counted where this node enforces the access: at either end.
type AccessCount struct {
	Namespace string `json:"namespace"`
	Consumer  string `json:"consumer"`
	Target    string `json:"target"`
	// Declared is false for a workload's implicit use of its own Services.
	Declared bool   `json:"declared"`
	Packets  uint64 `json:"packets"`
	Bytes    uint64 `json:"bytes"`
}
