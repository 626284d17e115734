package admission

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

// minInterval is the shortest time between two looks at a repository.
const minInterval = 5 * time.Second

// gitSource checks what can be told without asking Git.
func (p *problems) gitSource(s *api.Source) {
	spec := &s.Spec
	switch u, err := url.Parse(spec.Repo); {
	case spec.Repo == "":
		p.required(".spec.repo", "name the repository, such as https://HOST/PATH")
	case err == nil && (strings.Contains(spec.Repo, "://") && u.Scheme != "ssh" && u.User != nil):
		p.add(api.CodeInvalid, ".spec.repo", "put them into a Secret, and name that in .spec.secretRef", "the URL has credentials in it")
	case strings.Contains(spec.Repo, "://") && (err != nil || u.Scheme != "https" && u.Scheme != "ssh" && u.Scheme != "file"):
		p.add(api.CodeInvalid, ".spec.repo", "use https or ssh", "not a repository's URL that is read")
	case strings.HasPrefix(spec.Repo, "-") || !strings.Contains(spec.Repo, ":"):
		p.add(api.CodeInvalid, ".spec.repo", "write https://HOST/PATH or ssh://USER@HOST/PATH", "%q is not a repository's URL", spec.Repo)
	}
	if strings.HasPrefix(spec.Ref, "-") || strings.ContainsAny(spec.Ref, " ~^:?*[\\") || strings.Contains(spec.Ref, "..") {
		p.invalid(".spec.ref", "%q is no name of a branch, a tag or a commit", spec.Ref)
	}
	if spec.Path != "" && !filepath.IsLocal(filepath.FromSlash(path.Clean(spec.Path))) {
		p.invalid(".spec.path", "%q is outside of the repository", spec.Path)
	}
	if i, err := time.ParseDuration(spec.Interval); spec.Interval != "" && err != nil {
		p.invalid(".spec.interval", "%q is not a duration such as 30s or 5m", spec.Interval)
	} else if err == nil && i < minInterval {
		p.invalid(".spec.interval", "must be at least %s", minInterval)
	}
	p.oneOf(".spec.drift", spec.Drift, "correct", "report")
	p.oneOf(".spec.gates.openAccess", spec.Gates.OpenAccess, "allow", "approve")
	if n := spec.Gates.MaxDeletes; n != nil {
		p.atLeast(".spec.gates.maxDeletes", int64(*n), 0)
	}
	if spec.SecretRef != nil {
		p.check(".spec.secretRef.name", spec.SecretRef.Name, validation.IsDNS1123Subdomain(spec.SecretRef.Name))
	}
	if w := spec.Webhook; w != nil {
		p.check(".spec.webhook.secretRef.name", w.SecretRef.Name, validation.IsDNS1123Subdomain(w.SecretRef.Name))
	}
	if v := spec.Verify; v != nil && *v == (api.SourceVerify{}) {
		p.required(".spec.verify", "give allowedSigners or openPGPKeys")
	}
}
