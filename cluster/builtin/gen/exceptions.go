package main

// closedTypes are string types whose constants are all the values that the API
// server takes, which the sources do not mark as enumerations.
var closedTypes = []string{
	"admissionregistration/v1.ParameterNotFoundActionType",
	"admissionregistration/v1alpha1.ParameterNotFoundActionType",
	"admissionregistration/v1beta1.FailurePolicyType",
	"admissionregistration/v1beta1.MatchPolicyType",
	"admissionregistration/v1beta1.ParameterNotFoundActionType",
	"apps/v1.PersistentVolumeClaimRetentionPolicyType",
	"autoscaling/v2.HPAScalingPolicyType",
	"autoscaling/v2.MetricSourceType",
	"autoscaling/v2.MetricTargetType",
	"autoscaling/v2.ScalingPolicySelect",
	"core/v1.ConditionStatus",
	"core/v1.ContainerRestartPolicy",
	"core/v1.ContainerRestartRuleAction",
	"core/v1.ContainerRestartRuleOnExitCodesOperator",
	"core/v1.OSName",
	"core/v1.PodSELinuxChangePolicy",
	"core/v1.RecursiveReadOnlyMode",
	"core/v1.ResourceResizeRestartPolicy",
	"flowcontrol/v1.FlowDistinguisherMethodType",
	"flowcontrol/v1.LimitResponseType",
	"flowcontrol/v1.PriorityLevelEnablement",
	"flowcontrol/v1.SubjectKind",
	"meta/v1.FieldSelectorOperator",
	"meta/v1.LabelSelectorOperator",
	"storage/v1.FSGroupPolicy",
	"storage/v1.VolumeLifecycleMode",
}

// enums are the values of enumerations whose constants are not all literals.
var enums = map[string][]string{
	"discovery/v1.AddressType":      {"IPv4", "IPv6", "FQDN"},
	"discovery/v1beta1.AddressType": {"IPv4", "IPv6", "FQDN"},
}

// requirements says for fields whether they are required, where the sources'
// markers say otherwise than the API server does.
var requirements = map[string]bool{
	// Nothing can be made of the zero value of these.
	"batch/v1.Job.Spec":                  true,
	"core/v1.PersistentVolumeClaim.Spec": true,
	"core/v1.Pod.Spec":                   true,
	"core/v1.ReplicationController.Spec": true,
	"core/v1.Service.Spec":               true,
	// The API server fills it in.
	"rbac/v1.RoleRef.APIGroup": false,
}

// repeatable are the keyed lists in which the API server only warns of two
// elements with the same key.
var repeatable = map[string]bool{
	"core/v1.Container.Env":                   true,
	"core/v1.Container.Ports":                 true,
	"core/v1.EphemeralContainerCommon.Env":    true,
	"core/v1.EphemeralContainerCommon.Ports":  true,
	"core/v1.PodSpec.ImagePullSecrets":        true,
	"core/v1.PodSpec.HostAliases":             true,
	"core/v1.ServiceAccount.ImagePullSecrets": true,
	"core/v1.ServiceAccount.Secrets":          true,
}
