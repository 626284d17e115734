package admission

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// enums are the values of Kubernetes' string types that have a closed set.
// Which of them Writ honours is another matter: see the honour lists.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[corev1.Protocol]():                     {"TCP", "UDP", "SCTP"},
	reflect.TypeFor[corev1.PullPolicy]():                   {"Always", "IfNotPresent", "Never"},
	reflect.TypeFor[corev1.RestartPolicy]():                {"Always", "OnFailure", "Never"},
	reflect.TypeFor[corev1.DNSPolicy]():                    {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"},
	reflect.TypeFor[corev1.TerminationMessagePolicy]():     {"File", "FallbackToLogsOnError"},
	reflect.TypeFor[corev1.URIScheme]():                    {"HTTP", "HTTPS"},
	reflect.TypeFor[corev1.ConditionStatus]():              {"True", "False", "Unknown"},
	reflect.TypeFor[metav1.ConditionStatus]():              {"True", "False", "Unknown"},
	reflect.TypeFor[corev1.ServiceType]():                  {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"},
	reflect.TypeFor[corev1.ServiceAffinity]():              {"None", "ClientIP"},
	reflect.TypeFor[corev1.IPFamily]():                     {"IPv4", "IPv6"},
	reflect.TypeFor[corev1.IPFamilyPolicy]():               {"SingleStack", "PreferDualStack", "RequireDualStack"},
	reflect.TypeFor[corev1.ServiceInternalTrafficPolicy](): {"Cluster", "Local"},
	reflect.TypeFor[corev1.ServiceExternalTrafficPolicy](): {"Cluster", "Local"},
	reflect.TypeFor[corev1.PodPhase]():                     {"Pending", "Running", "Succeeded", "Failed", "Unknown"},
	reflect.TypeFor[corev1.SeccompProfileType]():           {"RuntimeDefault", "Localhost", "Unconfined"},
	reflect.TypeFor[corev1.StorageMedium]():                {"Memory", "HugePages"},
	reflect.TypeFor[corev1.TaintEffect]():                  {"NoSchedule", "PreferNoSchedule", "NoExecute"},
	reflect.TypeFor[corev1.TolerationOperator]():           {"Exists", "Equal", "Lt", "Gt"},
	reflect.TypeFor[appsv1.DeploymentStrategyType]():       {"Recreate", "RollingUpdate"},
	reflect.TypeFor[batchv1.CompletionMode]():              {"NonIndexed", "Indexed"},
	reflect.TypeFor[batchv1.PodReplacementPolicy]():        {"TerminatingOrFailed", "Failed"},
	reflect.TypeFor[metav1.LabelSelectorOperator]():        {"In", "NotIn", "Exists", "DoesNotExist"},
	reflect.TypeFor[discoveryv1.AddressType]():             {"IPv4", "IPv6", "FQDN"},
	reflect.TypeFor[metav1.ManagedFieldsOperationType]():   {"Apply", "Update"},
}
