package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The kinds below are not in k8s.io/api; their modules bring in all of the API
// server. The fields are those of the Kubernetes API reference.

// CustomResourceDefinition is apiextensions.k8s.io/v1.
type CustomResourceDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              DefinitionSpec   `json:"spec"`
	Status            DefinitionStatus `json:"status,omitempty"`
}

// DefinitionSpec is CustomResourceDefinitionSpec.
type DefinitionSpec struct {
	Group                 string              `json:"group"`
	Names                 DefinitionNames     `json:"names"`
	Scope                 ResourceScope       `json:"scope"`
	Versions              []DefinitionVersion `json:"versions"`
	Conversion            *Conversion         `json:"conversion,omitempty"`
	PreserveUnknownFields bool                `json:"preserveUnknownFields,omitempty"`
}

// ResourceScope says where objects live.
// +enum
type ResourceScope string

// The scopes.
const (
	ClusterScoped   ResourceScope = "Cluster"
	NamespaceScoped ResourceScope = "Namespaced"
)

// DefinitionNames is CustomResourceDefinitionNames.
type DefinitionNames struct {
	Plural   string `json:"plural"`
	Singular string `json:"singular,omitempty"`
	// +listType=set
	ShortNames []string `json:"shortNames,omitempty"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind,omitempty"`
	// +listType=set
	Categories []string `json:"categories,omitempty"`
}

// DefinitionVersion is CustomResourceDefinitionVersion.
type DefinitionVersion struct {
	Name                     string            `json:"name"`
	Served                   bool              `json:"served"`
	Storage                  bool              `json:"storage"`
	Deprecated               bool              `json:"deprecated,omitempty"`
	DeprecationWarning       *string           `json:"deprecationWarning,omitempty"`
	Schema                   *Validation       `json:"schema,omitempty"`
	Subresources             *Subresources     `json:"subresources,omitempty"`
	AdditionalPrinterColumns []PrinterColumn   `json:"additionalPrinterColumns,omitempty"`
	SelectableFields         []SelectableField `json:"selectableFields,omitempty"`
}

// Validation is CustomResourceValidation.
type Validation struct {
	OpenAPIV3Schema *JSONSchema `json:"openAPIV3Schema,omitempty"`
}

// Subresources is CustomResourceSubresources.
type Subresources struct {
	Status *SubresourceStatus `json:"status,omitempty"`
	Scale  *SubresourceScale  `json:"scale,omitempty"`
}

// SubresourceStatus is CustomResourceSubresourceStatus.
type SubresourceStatus struct{}

// SubresourceScale is CustomResourceSubresourceScale.
type SubresourceScale struct {
	SpecReplicasPath   string  `json:"specReplicasPath"`
	StatusReplicasPath string  `json:"statusReplicasPath"`
	LabelSelectorPath  *string `json:"labelSelectorPath,omitempty"`
}

// PrinterColumn is CustomResourceColumnDefinition.
type PrinterColumn struct {
	Name        string     `json:"name"`
	Type        ColumnType `json:"type"`
	Format      string     `json:"format,omitempty"`
	Description string     `json:"description,omitempty"`
	Priority    int32      `json:"priority,omitempty"`
	JSONPath    string     `json:"jsonPath"`
}

// ColumnType is what a column shows.
// +enum
type ColumnType string

// The types of columns.
const (
	ColumnInteger ColumnType = "integer"
	ColumnNumber  ColumnType = "number"
	ColumnString  ColumnType = "string"
	ColumnBoolean ColumnType = "boolean"
	ColumnDate    ColumnType = "date"
)

// SelectableField is SelectableField.
type SelectableField struct {
	JSONPath string `json:"jsonPath"`
}

// Conversion is CustomResourceConversion.
type Conversion struct {
	Strategy ConversionStrategy `json:"strategy"`
	Webhook  *WebhookConversion `json:"webhook,omitempty"`
}

// ConversionStrategy is how versions are converted.
// +enum
type ConversionStrategy string

// The strategies.
const (
	NoneConverter    ConversionStrategy = "None"
	WebhookConverter ConversionStrategy = "Webhook"
)

// WebhookConversion is WebhookConversion.
type WebhookConversion struct {
	ClientConfig             *WebhookClientConfig `json:"clientConfig,omitempty"`
	ConversionReviewVersions []string             `json:"conversionReviewVersions"`
}

// WebhookClientConfig is WebhookClientConfig.
type WebhookClientConfig struct {
	URL      *string           `json:"url,omitempty"`
	Service  *ServiceReference `json:"service,omitempty"`
	CABundle []byte            `json:"caBundle,omitempty"`
}

// ServiceReference is ServiceReference.
type ServiceReference struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Path      *string `json:"path,omitempty"`
	Port      *int32  `json:"port,omitempty"`
}

// DefinitionStatus is CustomResourceDefinitionStatus.
type DefinitionStatus struct {
	Conditions         []DefinitionCondition `json:"conditions,omitempty"`
	AcceptedNames      DefinitionNames       `json:"acceptedNames,omitempty"`
	StoredVersions     []string              `json:"storedVersions,omitempty"`
	ObservedGeneration int64                 `json:"observedGeneration,omitempty"`
}

// DefinitionCondition is CustomResourceDefinitionCondition.
type DefinitionCondition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	Reason             string      `json:"reason,omitempty"`
	Message            string      `json:"message,omitempty"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
}

// anyJSON is a value of any kind.
type anyJSON struct{}

// schemaOrBool is a schema, or true or false; schemaOrList a schema or a list
// of them. What is in them is checked where it is read.
type (
	schemaOrBool struct{}
	schemaOrList struct{}
)

// JSONSchema is JSONSchemaProps.
type JSONSchema struct {
	ID                   string                  `json:"id,omitempty"`
	Schema               string                  `json:"$schema,omitempty"`
	Ref                  *string                 `json:"$ref,omitempty"`
	Description          string                  `json:"description,omitempty"`
	Type                 string                  `json:"type,omitempty"`
	Format               string                  `json:"format,omitempty"`
	Title                string                  `json:"title,omitempty"`
	Default              *anyJSON                `json:"default,omitempty"`
	Maximum              *float64                `json:"maximum,omitempty"`
	ExclusiveMaximum     bool                    `json:"exclusiveMaximum,omitempty"`
	Minimum              *float64                `json:"minimum,omitempty"`
	ExclusiveMinimum     bool                    `json:"exclusiveMinimum,omitempty"`
	MaxLength            *int64                  `json:"maxLength,omitempty"`
	MinLength            *int64                  `json:"minLength,omitempty"`
	Pattern              string                  `json:"pattern,omitempty"`
	MaxItems             *int64                  `json:"maxItems,omitempty"`
	MinItems             *int64                  `json:"minItems,omitempty"`
	UniqueItems          bool                    `json:"uniqueItems,omitempty"`
	MultipleOf           *float64                `json:"multipleOf,omitempty"`
	Enum                 []anyJSON               `json:"enum,omitempty"`
	MaxProperties        *int64                  `json:"maxProperties,omitempty"`
	MinProperties        *int64                  `json:"minProperties,omitempty"`
	Required             []string                `json:"required,omitempty"`
	Items                *JSONSchema             `json:"items,omitempty"`
	AllOf                []JSONSchema            `json:"allOf,omitempty"`
	OneOf                []JSONSchema            `json:"oneOf,omitempty"`
	AnyOf                []JSONSchema            `json:"anyOf,omitempty"`
	Not                  *JSONSchema             `json:"not,omitempty"`
	Properties           map[string]JSONSchema   `json:"properties,omitempty"`
	AdditionalProperties *schemaOrBool           `json:"additionalProperties,omitempty"`
	PatternProperties    map[string]JSONSchema   `json:"patternProperties,omitempty"`
	Dependencies         map[string]schemaOrList `json:"dependencies,omitempty"`
	AdditionalItems      *schemaOrBool           `json:"additionalItems,omitempty"`
	Definitions          map[string]JSONSchema   `json:"definitions,omitempty"`
	ExternalDocs         *ExternalDocs           `json:"externalDocs,omitempty"`
	Example              *anyJSON                `json:"example,omitempty"`
	Nullable             bool                    `json:"nullable,omitempty"`

	PreserveUnknownFields *bool    `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
	EmbeddedResource      bool     `json:"x-kubernetes-embedded-resource,omitempty"`
	IntOrString           bool     `json:"x-kubernetes-int-or-string,omitempty"`
	ListMapKeys           []string `json:"x-kubernetes-list-map-keys,omitempty"`
	ListType              *string  `json:"x-kubernetes-list-type,omitempty"`
	MapType               *string  `json:"x-kubernetes-map-type,omitempty"`
	// +listType=map
	// +listMapKey=rule
	Validations []ValidationRule `json:"x-kubernetes-validations,omitempty"`
}

// ExternalDocs is ExternalDocumentation.
type ExternalDocs struct {
	Description string `json:"description,omitempty"`
	URL         string `json:"url,omitempty"`
}

// ValidationRule is ValidationRule.
type ValidationRule struct {
	Rule              string      `json:"rule"`
	Message           string      `json:"message,omitempty"`
	MessageExpression string      `json:"messageExpression,omitempty"`
	Reason            *RuleReason `json:"reason,omitempty"`
	FieldPath         string      `json:"fieldPath,omitempty"`
	OptionalOldSelf   *bool       `json:"optionalOldSelf,omitempty"`
}

// RuleReason is FieldValueErrorReason.
// +enum
type RuleReason string

// The reasons.
const (
	ReasonRequired  RuleReason = "FieldValueRequired"
	ReasonDuplicate RuleReason = "FieldValueDuplicate"
	ReasonInvalid   RuleReason = "FieldValueInvalid"
	ReasonForbidden RuleReason = "FieldValueForbidden"
)

// APIService is apiregistration.k8s.io/v1.
type APIService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              APIServiceSpec   `json:"spec,omitempty"`
	Status            APIServiceStatus `json:"status,omitempty"`
}

// APIServiceSpec is APIServiceSpec.
type APIServiceSpec struct {
	Service               *APIServiceReference `json:"service,omitempty"`
	Group                 string               `json:"group,omitempty"`
	Version               string               `json:"version,omitempty"`
	InsecureSkipTLSVerify bool                 `json:"insecureSkipTLSVerify,omitempty"`
	CABundle              []byte               `json:"caBundle,omitempty"`
	GroupPriorityMinimum  int32                `json:"groupPriorityMinimum"`
	VersionPriority       int32                `json:"versionPriority"`
}

// APIServiceReference is ServiceReference of that group.
type APIServiceReference struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Port      *int32 `json:"port,omitempty"`
}

// APIServiceStatus is APIServiceStatus.
type APIServiceStatus struct {
	Conditions []DefinitionCondition `json:"conditions,omitempty"`
}
