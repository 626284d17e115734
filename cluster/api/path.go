package api

import "strconv"

// FieldPath extends a JSON path by a member: ".spec" and "replicas" give
// ".spec.replicas"; a key that is not an identifier is quoted, as in
// `.metadata.labels["a/b"]`.
func FieldPath(path, key string) string {
	if isIdentifier(key) {
		return path + "." + key
	}
	return path + "[" + strconv.Quote(key) + "]"
}

// IndexPath extends a JSON path by a list element, counted from 0.
func IndexPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
