package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/object"
)

// form is how an answer is to look: which transformation, in which encoding.
type form struct {
	// as is empty, "Table", "PartialObjectMetadata" or "PartialObjectMetadataList".
	as   string
	yaml bool
}

// negotiate picks the first form in Accept that is served. What only asks for
// protobuf is answered with JSON: its clients look at the Content-Type.
func negotiate(r *http.Request) form {
	for _, clause := range strings.Split(r.Header.Get("Accept"), ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(clause))
		if err != nil {
			continue
		}
		switch media {
		case "application/json", "application/*", "*/*":
			as := params["as"]
			if as == "" {
				return form{}
			}
			if params["g"] == "meta.k8s.io" && params["v"] == "v1" && (as == "Table" || as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
				return form{as: as}
			}
		case "application/yaml":
			return form{yaml: true}
		}
	}
	return form{}
}

// send writes JSON, or YAML when the client prefers it.
func (s *Server) send(w http.ResponseWriter, r *http.Request, code int, body []byte) {
	f := negotiate(r)
	contentType := "application/json"
	switch {
	case f.yaml:
		if y, err := yaml.JSONToYAML(body); err == nil {
			body, contentType = y, "application/yaml"
		}
	case callOf(r).info.query.Get("pretty") == "true":
		var buf bytes.Buffer
		if json.Indent(&buf, body, "", "  ") == nil {
			body = buf.Bytes()
		}
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// sendValue writes a typed value.
func (s *Server) sendValue(w http.ResponseWriter, r *http.Request, code int, v any) {
	b, err := object.Marshal(v)
	if err != nil {
		s.fail(w, r, apierrors.NewInternalError(err))
		return
	}
	s.send(w, r, code, b)
}

// fail writes an error as a Status.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	st := statusOf(err)
	if a, ok := w.(*record); ok {
		a.failed(st)
	}
	if st.Details != nil && st.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(st.Details.RetryAfterSeconds)))
	}
	if st.Code >= 500 {
		s.o.Logger.Warn("request failed", "method", r.Method, "path", r.URL.Path, "error", st.Message)
	}
	b, merr := object.Marshal(st)
	if merr != nil {
		http.Error(w, merr.Error(), http.StatusInternalServerError)
		return
	}
	s.send(w, r, int(st.Code), b)
}

func statusOf(err error) metav1.Status {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		err = apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d bytes", tooLarge.Limit))
	}
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		s = apierrors.NewInternalError(err)
	}
	st := s.Status()
	st.APIVersion, st.Kind = "v1", "Status"
	if st.Code < 400 || st.Code > 599 {
		st.Code = http.StatusInternalServerError
	}
	return st
}

// warn adds warnings in the form of RFC 7234, section 5.5, which kubectl
// prints.
func warn(w http.ResponseWriter, texts []string) {
	const most, length = 20, 500
	seen := map[string]bool{}
	for _, t := range texts {
		t = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, t)
		if len(t) > length {
			t = strings.ToValidUTF8(t[:length], "") + "..."
		}
		if seen[t] || len(seen) == most {
			continue
		}
		seen[t] = true
		t = strings.ReplaceAll(strings.ReplaceAll(t, `\`, `\\`), `"`, `\"`)
		w.Header().Add("Warning", `299 - "`+t+`"`)
	}
}
