package git

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
)

const (
	maxURL = 2048 // bytes
	maxRef = 255
)

// scp is the form that ssh remotes are mostly written in.
var scp = regexp.MustCompile(`^(?:([A-Za-z0-9_][A-Za-z0-9._-]*)@)?([A-Za-z0-9][A-Za-z0-9.-]*):([^:].*)$`)

// host keeps what ssh or a URL could take for something else out.
var host = regexp.MustCompile(`^(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$`)

var user = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

var objectID = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// CheckURL returns the scheme of a repository's URL: https, ssh or file. Any
// other is refused, and so is a URL that holds a password or that git could
// take for an option.
func CheckURL(text string) (scheme string, err error) {
	if text == "" {
		return "", fail(InvalidRemote, "no repository is named")
	}
	if len(text) > maxURL || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		return "", fail(InvalidRemote, "the repository's URL is too long, or has spaces or control characters in it")
	}
	if !strings.Contains(text, "://") {
		if m := scp.FindStringSubmatch(text); m != nil && !strings.HasPrefix(m[3], "-") {
			return "ssh", nil
		}
		return "", fail(InvalidRemote, "%q is not a repository's URL; write https://HOST/PATH or ssh://USER@HOST/PATH", text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" {
		// The error of url.Parse repeats the URL, with what may be secret in it.
		return "", fail(InvalidRemote, "the repository's URL cannot be parsed")
	}
	if _, has := u.User.Password(); has || u.User != nil && u.Scheme != "ssh" {
		return "", fail(InvalidRemote, "the repository's URL has credentials in it; put them into a Secret")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", fail(InvalidRemote, "the repository's URL has a query or a fragment")
	}
	if strings.Trim(u.Path, "/") == "" {
		return "", fail(InvalidRemote, "the repository's URL has no path")
	}
	switch u.Scheme {
	case "https", "ssh":
		if !host.MatchString(u.Host) || u.User != nil && !user.MatchString(u.User.Username()) || strings.HasPrefix(u.Path, "/-") {
			return "", fail(InvalidRemote, "the repository's URL has a host, user or path that is not allowed")
		}
	case "file":
		if u.Host != "" || !path.IsAbs(u.Path) {
			return "", fail(InvalidRemote, "a file URL is file:///ABSOLUTE/PATH")
		}
	default:
		return "", fail(InvalidRemote, "repositories are read over https, ssh or file, not %s", u.Scheme)
	}
	return u.Scheme, nil
}

// CheckRef refuses what is no name of a branch, a tag or a commit; see
// git-check-ref-format(1).
func CheckRef(ref string) error {
	bad := len(ref) > maxRef || strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "/") ||
		strings.HasSuffix(ref, "/") || strings.HasSuffix(ref, ".") || ref == "@" ||
		strings.Contains(ref, "..") || strings.Contains(ref, "//") || strings.Contains(ref, "@{") ||
		strings.ContainsAny(ref, " ~^:?*[\\\x7f") || strings.ContainsFunc(ref, unicode.IsControl)
	for part := range strings.SplitSeq(ref, "/") {
		bad = bad || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if bad {
		return fail(InvalidRemote, "%q is no name of a branch, a tag or a commit", ref)
	}
	return nil
}

func shortRef(full string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		if rest, ok := strings.CutPrefix(full, prefix); ok {
			return rest
		}
	}
	return full
}
