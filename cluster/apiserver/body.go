package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
)

const protobufMedia = "application/vnd.kubernetes.protobuf"

// protobufMagic begins every protobuf body of Kubernetes.
var protobufMagic = []byte("k8s\x00")

func unsupportedMedia(media string) error {
	e := apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", anyResource, "", "", 0, false)
	e.ErrStatus.Message = fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, %s; got %q", protobufMedia, media)
	return e
}

// readJSON reads a request's body as JSON, whatever it was sent as. into is
// what a protobuf body holds.
func readJSON(r *http.Request, into func() runtime.Object) ([]byte, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		if e := statusOf(err); e.Code != http.StatusInternalServerError {
			return nil, err
		}
		return nil, apierrors.NewBadRequest(fmt.Sprintf("read body: %v", err))
	}
	media := "application/json"
	if h := r.Header.Get("Content-Type"); h != "" {
		if media, _, err = mime.ParseMediaType(h); err != nil {
			return nil, unsupportedMedia(h)
		}
	}
	switch media {
	case "application/json":
		return b, nil
	case "application/yaml", "application/x-yaml", "text/yaml":
		j, err := yaml.YAMLToJSONStrict(b)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("decode YAML: %v", err))
		}
		return j, nil
	case protobufMedia:
		if len(b) == 0 {
			return nil, nil
		}
		return protobufToJSON(b, into)
	}
	return nil, unsupportedMedia(media)
}

// protobufToJSON decodes the envelope runtime.Unknown and what is in it.
func protobufToJSON(b []byte, into func() runtime.Object) (out []byte, err error) {
	// The generated decoders are not written for hostile input.
	defer func() {
		if v := recover(); v != nil {
			err = apierrors.NewBadRequest(fmt.Sprintf("decode protobuf: %v", v))
		}
	}()
	raw, ok := bytes.CutPrefix(b, protobufMagic)
	if !ok {
		return nil, apierrors.NewBadRequest("decode protobuf: the body does not begin with the magic number of Kubernetes")
	}
	var u runtime.Unknown
	if err := u.Unmarshal(raw); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode protobuf: %v", err))
	}
	if into == nil {
		return nil, unsupportedMedia(protobufMedia)
	}
	typed := into()
	m, ok := typed.(interface{ Unmarshal([]byte) error })
	if !ok {
		return nil, unsupportedMedia(protobufMedia)
	}
	if err := m.Unmarshal(u.Raw); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode protobuf: %v", err))
	}
	gv, err := schema.ParseGroupVersion(u.APIVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode protobuf: %v", err))
	}
	typed.GetObjectKind().SetGroupVersionKind(gv.WithKind(u.Kind))
	return json.Marshal(typed)
}

// readObject reads the object that a create or an update sends, and completes
// its identity from the URL.
func readObject(r *http.Request, info *requestInfo, k api.Kind, validation string) (object.Object, []string, error) {
	b, err := readJSON(r, k.New)
	if err != nil {
		return object.Object{}, nil, err
	}
	tree := map[string]any{}
	strict, err := kjson.UnmarshalStrict(b, &tree, kjson.DisallowDuplicateFields)
	if err != nil {
		return object.Object{}, nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized: %v", err))
	}
	warnings, err := duplicates(strict, validation)
	if err != nil {
		return object.Object{}, nil, err
	}
	// Once more, for exact numbers.
	v, err := object.Unmarshal(b)
	if err != nil {
		return object.Object{}, nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized: %v", err))
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return object.Object{}, nil, apierrors.NewBadRequest("the object provided is unrecognized: it is no JSON object")
	}
	if err := complete(tree, info, k); err != nil {
		return object.Object{}, nil, err
	}
	o, err := object.FromTree(tree)
	if err != nil {
		return o, nil, apierrors.NewBadRequest(err.Error())
	}
	return o, warnings, nil
}

func duplicates(strict []error, validation string) ([]string, error) {
	if len(strict) == 0 || validation == registry.Ignore {
		return nil, nil
	}
	texts := make([]string, len(strict))
	for i, e := range strict {
		texts[i] = e.Error()
	}
	if validation == registry.Strict {
		return nil, apierrors.NewBadRequest("strict decoding error: " + strings.Join(texts, ", "))
	}
	return texts, nil
}

// complete fills in what the URL says and refuses what contradicts it.
func complete(tree map[string]any, info *requestInfo, k api.Kind) error {
	for name, want := range map[string]string{"apiVersion": k.APIVersion(), "kind": k.Kind} {
		switch have, _ := tree[name].(string); have {
		case want:
		case "":
			if tree[name] != nil && tree[name] != "" {
				return apierrors.NewBadRequest(fmt.Sprintf("%s must be a string", name))
			}
			tree[name] = want
		default:
			return apierrors.NewBadRequest(fmt.Sprintf("the %s in the data (%s) does not match the expected %s (%s)", name, have, name, want))
		}
	}
	if tree["metadata"] == nil {
		tree["metadata"] = map[string]any{}
	}
	m, ok := tree["metadata"].(map[string]any)
	if !ok {
		return apierrors.NewBadRequest("metadata must be an object")
	}
	if err := agree(m, "namespace", info.namespace); k.Namespaced && err != nil {
		return err
	}
	return agree(m, "name", info.name)
}

func agree(m map[string]any, field, url string) error {
	if url == "" {
		return nil
	}
	switch have, _ := m[field].(string); have {
	case url:
	case "":
		m[field] = url
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("the %s of the provided object does not match the %s sent on the request", field, field))
	}
	return nil
}
