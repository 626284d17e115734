package store

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/writ-dev/writ/cluster/object"
)

// stamp parses doc with its metadata.resourceVersion set to revision and
// checks that it is the object that k names.
func stamp(k object.Key, doc []byte, revision uint64) (object.Object, error) {
	version := strconv.FormatUint(revision, 10)
	b, err := splice(doc, version)
	if err != nil {
		return object.Object{}, err
	}
	o, err := object.Parse(b)
	if err != nil {
		return object.Object{}, err
	}
	if o.Key() != k {
		return object.Object{}, fmt.Errorf("the document is %s", o.Key())
	}
	// The splice and encoding/json could only disagree about a document with
	// duplicate or oddly-cased members, which nobody may store.
	if o.Meta().ResourceVersion != version {
		return object.Object{}, errors.New("the document has its metadata more than once")
	}
	return o, nil
}

const versionMember = `"resourceVersion":"`

// splice returns doc with metadata.resourceVersion set to version, as the first
// member of metadata. The rest of doc is copied byte for byte. doc is not
// changed. A document that is not valid JSON gives an error or garbage, never
// a panic; the parser that follows refuses garbage.
func splice(doc []byte, version string) ([]byte, error) {
	meta, found, err := member(doc, 0, "metadata")
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(doc)+len(`"metadata":{},`)+len(versionMember)+len(version)+2)
	if !found.ok {
		// No metadata: make it the first member.
		out = append(out, doc[:meta.open+1]...)
		out = append(out, `"metadata":{`...)
		out = appendVersion(out, version)
		out = append(out, '}')
		return appendMembers(out, doc[meta.open+1:]), nil
	}
	inner, old, err := member(doc, found.value, "resourceVersion")
	if err != nil {
		if !bytes.Equal(doc[found.value:found.end], []byte("null")) {
			return nil, errors.New(".metadata: must be an object")
		}
		out = append(out, doc[:found.value]...)
		out = appendVersion(append(out, '{'), version)
		out = append(out, '}')
		return append(out, doc[found.end:]...), nil
	}
	out = append(out, doc[:inner.open+1]...)
	out = appendVersion(out, version)
	if !old.ok {
		return appendMembers(out, doc[inner.open+1:]), nil
	}
	// Cut the old member out, with the comma after it or, if last, before it.
	head, tail := doc[inner.open+1:old.name], doc[old.end:]
	if rest := skipSpace(tail, 0); rest < len(tail) && tail[rest] == ',' {
		tail = tail[rest+1:]
	} else {
		head = bytes.TrimSuffix(bytes.TrimRight(head, " \t\r\n"), []byte(","))
	}
	return appendMembers(out, append(bytes.Clone(head), tail...)), nil
}

func appendVersion(out []byte, version string) []byte {
	return append(append(append(out, versionMember...), version...), '"')
}

// appendMembers appends the rest of an object whose first member is written,
// with a comma if there is another.
func appendMembers(out, rest []byte) []byte {
	if i := skipSpace(rest, 0); i < len(rest) && rest[i] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}

// span says where a member of an object is: its name, its value, and the end.
type span struct {
	ok               bool
	name, value, end int
}

// brace says where an object begins.
type brace struct{ open int }

var errNotObject = errors.New("must be a JSON object")

// member finds a member of the object that starts at doc[i], not descending.
func member(doc []byte, i int, name string) (brace, span, error) {
	i = skipSpace(doc, i)
	if i >= len(doc) || doc[i] != '{' {
		return brace{}, span{}, errNotObject
	}
	b := brace{open: i}
	i = skipSpace(doc, i+1)
	for i < len(doc) && doc[i] != '}' {
		s := span{name: i}
		i = skipString(doc, i)
		if i < 0 {
			return b, s, errNotObject
		}
		got := doc[s.name:i]
		i = skipSpace(doc, i)
		if i >= len(doc) || doc[i] != ':' {
			return b, s, errNotObject
		}
		s.value = skipSpace(doc, i+1)
		s.end = skipValue(doc, s.value)
		if s.end < 0 {
			return b, s, errNotObject
		}
		if len(got) == len(name)+2 && string(got[1:len(got)-1]) == name {
			s.ok = true
			return b, s, nil
		}
		i = skipSpace(doc, s.end)
		if i < len(doc) && doc[i] == ',' {
			i = skipSpace(doc, i+1)
		}
	}
	if i >= len(doc) {
		return b, span{}, errNotObject
	}
	return b, span{}, nil
}

func skipSpace(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string at doc[i], or -1.
func skipString(doc []byte, i int) int {
	if i >= len(doc) || doc[i] != '"' {
		return -1
	}
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// skipValue returns the index after the value at doc[i], or -1.
func skipValue(doc []byte, i int) int {
	depth, start := 0, i
	for i < len(doc) {
		switch doc[i] {
		case '"':
			if i = skipString(doc, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the end of a bare value
				return atLeast(start, i)
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return atLeast(start, i)
			}
		}
		i++
	}
	return -1
}

// atLeast refuses an empty value.
func atLeast(start, end int) int {
	if end == start {
		return -1
	}
	return end
}
