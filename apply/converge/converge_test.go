package converge

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/cluster/object"
)

func parse(t testing.TB, text string) object.Object {
	t.Helper()
	o, err := object.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

func deploymentWith(spec, status string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"d","generation":2},"spec":{` + spec + `},"status":{` + status + `}}`
}

func replicaSetWith(uid, revision string) string {
	return `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"` + uid + `","namespace":"default","uid":"` + uid + `","annotations":{"deployment.kubernetes.io/revision":"` + revision + `"},
		"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"d","controller":true}]}}`
}

func podWith(owner, status string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p-` + owner + `","namespace":"default",
		"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"` + owner + `","controller":true}]},"spec":{"nodeName":"n1"},"status":{` + status + `}}`
}

func jobWith(status string) string {
	return `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"default","uid":"j"},"spec":{},"status":{` + status + `}}`
}

const crash = `"phase":"Running","containerStatuses":[{"name":"c","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]`

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name    string
		object  string
		view    []string
		state   State
		message string
	}{
		{"deployment not taken up", deploymentWith(`"replicas":2`, `"observedGeneration":1,"replicas":2,"updatedReplicas":2,"availableReplicas":2`), nil, Moving, "generation 2"},
		{"deployment rolling", deploymentWith(`"replicas":2`, `"observedGeneration":2,"replicas":3,"updatedReplicas":1,"availableReplicas":2`), nil, Moving, "1 of 2 pods of the new version exist"},
		{"deployment with old pods", deploymentWith(`"replicas":2`, `"observedGeneration":2,"replicas":3,"updatedReplicas":2,"availableReplicas":3`), nil, Moving, "1 pods of the old version"},
		{"deployment not ready", deploymentWith(`"replicas":2`, `"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":1`), nil, Moving, "1 of 2 pods ready"},
		{"deployment done", deploymentWith(`"replicas":2`, `"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":2`), nil, Done, "2 of 2"},
		{"deployment of none", deploymentWith(`"replicas":0`, `"observedGeneration":2`), nil, Done, "0 of 0"},
		{"deployment without a number", deploymentWith(``, `"observedGeneration":2`), nil, Moving, "0 of 1"},
		{"deployment paused", deploymentWith(`"paused":true`, `"observedGeneration":2`), nil, Stuck, "paused"},
		{"deployment past its deadline", deploymentWith(``, `"observedGeneration":2,"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded","message":"too slow"}]`), nil, Stuck, "too slow"},
		{"deployment that cannot make pods", deploymentWith(``, `"observedGeneration":2,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"forbidden"}]`), nil, Stuck, "forbidden"},
		{"deployment with a crashing pod", deploymentWith(``, `"observedGeneration":2,"replicas":1,"updatedReplicas":1`), []string{replicaSetWith("r1", "1"), podWith("r1", crash)}, Stuck, "pod p-r1: container c: has ended 5 times, the last time for lack of memory"},
		{"deployment with an old crashing pod", deploymentWith(``, `"observedGeneration":2,"replicas":1,"updatedReplicas":1`), []string{replicaSetWith("r9", "9"), podWith("r9", crash), replicaSetWith("r10", "10")}, Moving, "0 of 1"},
		{"deployment going", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","deletionTimestamp":"2026-01-01T00:00:00Z"}}`, nil, Moving, "deleted"},
		{"pod unschedulable", podWith("r", `"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 nodes: cpu"}]`), nil, Stuck, "no node takes it: 0/1 nodes: cpu"},
		{"pod without image", podWith("r", `"phase":"Pending","containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ErrImageNeverPull","message":"no image x"}}}]`), nil, Stuck, "container c: no image x"},
		{"pod starting", podWith("r", `"phase":"Pending","containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ContainerCreating"}}}]`), nil, Moving, "ContainerCreating"},
		{"pod not ready", podWith("r", `"phase":"Running","containerStatuses":[{"name":"c","ready":false,"state":{"running":{}}}],"conditions":[{"type":"Ready","status":"False"}]`), nil, Moving, "runs but is not ready"},
		{"pod waiting for its grants", podWith("r", `"phase":"Pending","conditions":[{"type":"writ.dev/Granted","status":"False","message":"waits for default/store"}]`), nil, Moving, "waits for default/store"},
		{"pod ready", podWith("r", `"phase":"Running","conditions":[{"type":"Ready","status":"True"}]`), nil, Done, "ready"},
		{"pod succeeded", podWith("r", `"phase":"Succeeded"`), nil, Done, "ended"},
		{"pod failed", podWith("r", `"phase":"Failed","containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":3}}}]`), nil, Stuck, "exit code 3"},
		{"replica set done", `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r","uid":"r","generation":1},"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1,"availableReplicas":1}}`, nil, Done, "1 of 1"},
		{"replica set with a crashing pod", `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r","uid":"r","generation":1},"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1}}`, []string{podWith("r", crash)}, Stuck, "5 times"},
		{"job running", jobWith(`"active":1`), nil, Moving, "0 of 1"},
		{"job complete", jobWith(`"succeeded":1,"conditions":[{"type":"Complete","status":"True"}]`), nil, Done, "1 of 1"},
		{"job failed", jobWith(`"conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded","message":"limit reached"}]`), nil, Stuck, "limit reached"},
		{"service without address", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{}}`, nil, Moving, "address"},
		{"service", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"clusterIP":"None"}}`, nil, Done, ""},
		{"dependency new", `{"apiVersion":"writ.dev/v1alpha1","kind":"Dependency","metadata":{"name":"d"}}`, nil, Moving, "waits"},
		{"dependency pending", `{"apiVersion":"writ.dev/v1alpha1","kind":"Dependency","metadata":{"name":"d"},"status":{"phase":"Pending","conditions":[{"type":"Ready","status":"False","reason":"NoService","message":"Service x does not exist"}]}}`, nil, Moving, "Service x does not exist"},
		{"dependency ready", `{"apiVersion":"writ.dev/v1alpha1","kind":"Dependency","metadata":{"name":"d"},"status":{"phase":"Ready"}}`, nil, Done, ""},
		{"config map", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`, nil, Done, ""},
		{"unreadable", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"},"spec":7}`, nil, Stuck, "decode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v View
			for _, text := range c.view {
				v.Objects = append(v.Objects, parse(t, text))
			}
			got := Of(parse(t, c.object), v)
			if got.State != c.state || !strings.Contains(got.Message, c.message) {
				t.Errorf("got %+v, want %s with %q", got, c.state, c.message)
			}
		})
	}
}
