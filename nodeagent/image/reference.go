package image

import (
	"fmt"
	"regexp"
	"strings"
)

// Reference is a parsed image reference: name[:tag][@sha256:hex], or a bare
// digest, in which case Name is empty.
type Reference struct {
	Name, Tag, Digest string
}

var (
	// The grammar of the OCI distribution spec for repository names, with an
	// optional registry host and port in front.
	namePattern   = regexp.MustCompile(`^([a-zA-Z0-9]+([.-][a-zA-Z0-9]+)*(:[0-9]{1,5})?/)?[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*$`)
	tagPattern    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// Bounds in bytes, of a reference and of the name in it.
const maxReference, maxName = 512, 255

// ParseReference reads an image reference. Docker's own prefixes
// (docker.io/library/) are dropped, so that an image loaded from a Docker
// archive is found by its short name and its long one.
func ParseReference(s string) (Reference, error) {
	bad := func(why string) (Reference, error) {
		if len(s) > 80 {
			s = s[:80] + "…"
		}
		return Reference{}, fmt.Errorf("image reference %q: %s", s, why)
	}
	if s == "" {
		return bad("is empty")
	}
	if len(s) > maxReference {
		return bad("is too long")
	}
	if digestPattern.MatchString(s) {
		return Reference{Digest: s}, nil
	}
	r := Reference{Name: s}
	if name, digest, ok := strings.Cut(s, "@"); ok {
		if !digestPattern.MatchString(digest) {
			return bad("the part after @ must be sha256: and 64 hexadecimal digits")
		}
		r.Name, r.Digest = name, digest
	}
	if i := strings.LastIndexByte(r.Name, ':'); i > strings.LastIndexByte(r.Name, '/') {
		r.Name, r.Tag = r.Name[:i], r.Name[i+1:]
		if !tagPattern.MatchString(r.Tag) {
			return bad("the part after : is not a tag")
		}
	}
	if len(r.Name) > maxName {
		return bad("its name is too long")
	}
	if !namePattern.MatchString(r.Name) {
		return bad("want name, name:tag or name@sha256:digest, the name in lower case")
	}
	// Until none is left, so that a name read twice stays the same.
	for short := ""; short != r.Name; {
		short = r.Name
		for _, prefix := range []string{"index.docker.io/", "docker.io/", "library/"} {
			r.Name = strings.TrimPrefix(r.Name, prefix)
		}
	}
	if r.Name == "sha256" {
		return bad("a digest is sha256: and 64 hexadecimal digits")
	}
	return r, nil
}

// Tagged is the name under which the index keeps the image.
func (r Reference) Tagged() string {
	if r.Tag == "" {
		return r.Name + ":latest"
	}
	return r.Name + ":" + r.Tag
}
