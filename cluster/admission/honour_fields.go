package admission

import "github.com/writ-dev/writ/cluster/api"

// podFields are the fields of a pod spec that the scheduler, the node agent
// and the sandbox runtime honour, and the values that change nothing.
// initContainers have the fields of containers, and all probes those of
// livenessProbe.
const podFields = `
	activeDeadlineSeconds = 0
	automountServiceAccountToken
	containers[].args[]
	containers[].command[]
	containers[].env[].name
	containers[].env[].value
	containers[].env[].valueFrom.configMapKeyRef.*
	containers[].env[].valueFrom.fieldRef.apiVersion = v1
	containers[].env[].valueFrom.fieldRef.fieldPath
	containers[].env[].valueFrom.secretKeyRef.*
	containers[].envFrom[].configMapRef.*
	containers[].envFrom[].prefix
	containers[].envFrom[].secretRef.*
	containers[].image
	containers[].imagePullPolicy
	containers[].livenessProbe.exec.command[]
	containers[].livenessProbe.failureThreshold
	containers[].livenessProbe.httpGet.host
	containers[].livenessProbe.httpGet.httpHeaders[].*
	containers[].livenessProbe.httpGet.path
	containers[].livenessProbe.httpGet.port
	containers[].livenessProbe.httpGet.scheme
	containers[].livenessProbe.initialDelaySeconds
	containers[].livenessProbe.periodSeconds
	containers[].livenessProbe.successThreshold
	containers[].livenessProbe.tcpSocket.host
	containers[].livenessProbe.tcpSocket.port
	containers[].livenessProbe.terminationGracePeriodSeconds
	containers[].livenessProbe.timeoutSeconds
	containers[].name
	containers[].ports[].containerPort
	containers[].ports[].name
	containers[].ports[].protocol = TCP UDP
	containers[].resources.limits.*
	containers[].resources.requests.*
	containers[].securityContext.allowPrivilegeEscalation = false
	containers[].securityContext.capabilities.add[]
	containers[].securityContext.capabilities.drop[]
	containers[].securityContext.procMount = Default
	containers[].securityContext.readOnlyRootFilesystem
	containers[].securityContext.runAsGroup
	containers[].securityContext.runAsNonRoot
	containers[].securityContext.runAsUser
	containers[].securityContext.seccompProfile.type = RuntimeDefault
	containers[].terminationMessagePath = /dev/termination-log
	containers[].terminationMessagePolicy = File
	containers[].volumeMounts[].mountPath
	containers[].volumeMounts[].name
	containers[].volumeMounts[].readOnly
	containers[].volumeMounts[].subPath
	containers[].workingDir
	dnsPolicy = ClusterFirst
	enableServiceLinks
	hostUsers = true
	hostname
	nodeName
	nodeSelector.*
	preemptionPolicy = PreemptLowerPriority
	priority = 0
	restartPolicy
	schedulerName = default-scheduler
	securityContext.runAsGroup
	securityContext.runAsNonRoot
	securityContext.runAsUser
	securityContext.seccompProfile.type = RuntimeDefault
	serviceAccount
	serviceAccountName
	terminationGracePeriodSeconds
	volumes[].configMap.*
	volumes[].emptyDir.sizeLimit
	volumes[].name
	volumes[].secret.*
`

// kindFields are the honoured fields of the other kinds. Kinds that are not
// here are honoured whole.
var kindFields = map[string]string{
	api.Pod.Kind: `spec`,
	api.Service.Kind: `
		spec.clusterIP
		spec.clusterIPs[]
		spec.externalTrafficPolicy = Cluster
		spec.internalTrafficPolicy = Cluster
		spec.ipFamilies[] = IPv4
		spec.ipFamilyPolicy = SingleStack PreferDualStack
		spec.ports[].appProtocol
		spec.ports[].name
		spec.ports[].nodePort
		spec.ports[].port
		spec.ports[].protocol = TCP UDP
		spec.ports[].targetPort
		spec.publishNotReadyAddresses
		spec.selector.*
		spec.sessionAffinity = None
		spec.type = ClusterIP NodePort`,
	api.Deployment.Kind: `
		spec.minReadySeconds
		spec.paused
		spec.progressDeadlineSeconds
		spec.replicas
		spec.revisionHistoryLimit
		spec.selector.*
		spec.strategy.rollingUpdate.maxSurge
		spec.strategy.rollingUpdate.maxUnavailable
		spec.strategy.type
		spec.template.metadata.*`,
	api.ReplicaSet.Kind: `
		spec.minReadySeconds
		spec.replicas
		spec.selector.*
		spec.template.metadata.*`,
	api.Job.Kind: `
		spec.activeDeadlineSeconds
		spec.backoffLimit
		spec.completionMode = NonIndexed
		spec.completions
		spec.parallelism
		spec.podReplacementPolicy = TerminatingOrFailed
		spec.selector.*
		spec.suspend
		spec.template.metadata.*
		spec.ttlSecondsAfterFinished`,
	api.Node.Kind: `
		spec.podCIDR
		spec.podCIDRs[]
		spec.providerID
		spec.unschedulable`,
	api.Namespace.Kind: `
		spec.finalizers[] = kubernetes`,
}

// refusal is why a field, or one value of it, is refused and what to do.
type refusal struct {
	pattern, value      string
	code, message, hint string
}

// refusals word what people write most, and what would undo enforcement.
var refusals = []refusal{
	{".spec.hostNetwork", "", api.CodeHostAccess, "a pod on the host's network would bypass its declared dependencies", "remove it; publish ports with a Service of type NodePort"},
	{".spec.hostPID", "", api.CodeHostAccess, "a pod that sees the host's processes could enter their networks", "remove it"},
	{".spec.hostIPC", "", api.CodeHostAccess, "a pod in the host's IPC namespace could talk past its declared dependencies", "remove it"},
	{".spec.containers[].ports[].hostPort", "", api.CodeHostAccess, "a host port would be reachable by what did not declare it", "remove it; publish ports with a Service of type NodePort"},
	{".spec.containers[].securityContext.privileged", "", api.CodeHostAccess, "a privileged container could switch enforcement off", "remove it"},
	{".spec.containers[].securityContext.allowPrivilegeEscalation", "", api.CodeUnsupported, "not supported by Writ: containers never gain privileges", "use false, or remove it"},
	{".spec.containers[].lifecycle", "", api.CodeUnsupported, "not supported by Writ yet: lifecycle hooks", "remove it; handle SIGTERM in the program"},
	{".spec.containers[].livenessProbe.grpc", "", api.CodeUnsupported, "not supported by Writ yet: gRPC probes", "use httpGet, tcpSocket or exec"},
	{".spec.containers[].restartPolicy", "", api.CodeUnsupported, "not supported by Writ yet: sidecar containers", "move it to containers"},
	{".spec.containers[].terminationMessagePolicy", "", api.CodeUnsupported, "not supported by Writ yet: termination messages", "use File, or remove it"},
	{".spec.imagePullSecrets", "", api.CodeUnsupported, "not supported by Writ yet: images come from the local store", "remove it"},
	{".spec.volumes[].hostPath", "", api.CodeUnsupported, "not supported by Writ: a host path could be shared behind the back of declared dependencies", "use emptyDir, configMap or secret"},
	{".spec.volumes[].persistentVolumeClaim", "", api.CodeUnsupported, "not supported by Writ yet: persistent volumes", "use emptyDir for data that may go with the pod"},
	{".spec.type", "LoadBalancer", api.CodeUnsupported, "not supported by Writ yet: type LoadBalancer", "use NodePort: it is published on 127.0.0.1 of the host"},
	{".spec.type", "ExternalName", api.CodeUnsupported, "not supported by Writ: type ExternalName would reach outside without a declaration", "remove the Service"},
	{".spec.externalName", "", api.CodeUnsupported, "not supported by Writ: an external name would reach outside without a declaration", "remove the Service"},
	{".spec.externalIPs", "", api.CodeUnsupported, "not supported by Writ: external IPs could take over other addresses", "use type NodePort"},
}
