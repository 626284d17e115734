package api

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Definition is the kind by which others are defined. It is served beside
// Kinds: what it defines is not known before the server has it.
var Definition = Kind{
	Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Resource: "customresourcedefinitions", Singular: "customresourcedefinition",
	ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"}, Status: true,
	New: func() runtime.Object { return new(CustomResourceDefinition) },
}

// CustomResourceDefinition is that of apiextensions.k8s.io/v1, whose module
// brings in all of the API server. Schemas are kept as they are written.
type CustomResourceDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              DefinitionSpec   `json:"spec"`
	Status            DefinitionStatus `json:"status,omitempty,omitzero"`
}

// DefinitionSpec says how a kind is called and what its versions are.
type DefinitionSpec struct {
	Group string          `json:"group"`
	Names DefinitionNames `json:"names"`
	// Scope is Namespaced or Cluster.
	Scope                 string                `json:"scope"`
	Versions              []DefinitionVersion   `json:"versions"`
	Conversion            *DefinitionConversion `json:"conversion,omitempty"`
	PreserveUnknownFields bool                  `json:"preserveUnknownFields,omitempty"`
}

// DefinitionNames are the names of a kind.
type DefinitionNames struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular,omitempty"`
	ShortNames []string `json:"shortNames,omitempty"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// DefinitionVersion is one version of a kind.
type DefinitionVersion struct {
	Name                     string                  `json:"name"`
	Served                   bool                    `json:"served"`
	Storage                  bool                    `json:"storage"`
	Deprecated               bool                    `json:"deprecated,omitempty"`
	DeprecationWarning       *string                 `json:"deprecationWarning,omitempty"`
	Schema                   *DefinitionSchema       `json:"schema,omitempty"`
	Subresources             *DefinitionSubresources `json:"subresources,omitempty"`
	AdditionalPrinterColumns []DefinitionColumn      `json:"additionalPrinterColumns,omitempty"`
	SelectableFields         []DefinitionSelectable  `json:"selectableFields,omitempty"`
}

// DefinitionSchema holds the schema of a version.
type DefinitionSchema struct {
	OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema,omitempty"`
}

// DefinitionSubresources are the subresources of a version.
type DefinitionSubresources struct {
	Status *DefinitionStatusSubresource `json:"status,omitempty"`
	Scale  *DefinitionScale             `json:"scale,omitempty"`
}

// DefinitionStatusSubresource has no options.
type DefinitionStatusSubresource struct{}

// DefinitionScale says where the scale is: JSON paths such as .spec.replicas.
type DefinitionScale struct {
	SpecReplicasPath   string  `json:"specReplicasPath"`
	StatusReplicasPath string  `json:"statusReplicasPath"`
	LabelSelectorPath  *string `json:"labelSelectorPath,omitempty"`
}

// DefinitionColumn is a column that kubectl get shows.
type DefinitionColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int32  `json:"priority,omitempty"`
	JSONPath    string `json:"jsonPath"`
}

// DefinitionSelectable is a field that field selectors may name.
type DefinitionSelectable struct {
	JSONPath string `json:"jsonPath"`
}

// DefinitionConversion says how versions are converted.
type DefinitionConversion struct {
	Strategy string          `json:"strategy"`
	Webhook  json.RawMessage `json:"webhook,omitempty"`
}

// DefinitionStatus is written by the server.
type DefinitionStatus struct {
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	AcceptedNames      DefinitionNames    `json:"acceptedNames,omitempty,omitzero"`
	StoredVersions     []string           `json:"storedVersions,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
}

// DeepCopyObject copies through JSON.
func (d *CustomResourceDefinition) DeepCopyObject() runtime.Object { return copyJSON(d) }
