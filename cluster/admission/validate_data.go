package admission

import (
	"fmt"
	"net/netip"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

// maxData is Kubernetes' bound on the data of one ConfigMap or Secret, in bytes.
const maxData = 1 << 20

func (p *problems) configMap(c *corev1.ConfigMap) {
	size := 0
	for _, key := range sortedKeys(c.Data) {
		p.check(api.FieldPath(".data", key), key, validation.IsConfigMapKey(key))
		size += len(key) + len(c.Data[key])
	}
	for _, key := range sortedKeys(c.BinaryData) {
		at := api.FieldPath(".binaryData", key)
		p.check(at, key, validation.IsConfigMapKey(key))
		if _, ok := c.Data[key]; ok {
			p.add(api.CodeDuplicate, at, "remove one", "%q is in data as well", key)
		}
		size += len(key) + len(c.BinaryData[key])
	}
	p.size(size)
}

func (p *problems) size(n int) {
	if n > maxData {
		p.add(api.CodeInvalid, ".data", "split it", "%d bytes of data; at most %d", n, maxData)
	}
}

// secretKeys are the keys that a Secret of each type must have.
var secretKeys = map[corev1.SecretType][]string{
	corev1.SecretTypeTLS:              {corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
	corev1.SecretTypeSSHAuth:          {corev1.SSHAuthPrivateKey},
	corev1.SecretTypeDockerConfigJson: {corev1.DockerConfigJsonKey},
	corev1.SecretTypeDockercfg:        {corev1.DockerConfigKey},
}

func (p *problems) secret(s *corev1.Secret) {
	size := 0
	for _, key := range sortedKeys(s.Data) {
		p.check(api.FieldPath(".data", key), key, validation.IsConfigMapKey(key))
		size += len(key) + len(s.Data[key])
	}
	p.size(size)
	for _, key := range secretKeys[s.Type] {
		if _, ok := s.Data[key]; !ok {
			p.add(api.CodeRequired, api.FieldPath(".data", key), "", "a Secret of type %s needs it", s.Type)
		}
	}
}

func (p *problems) node(n *corev1.Node) {
	if c := n.Spec.PodCIDR; c != "" {
		if prefix, err := netip.ParsePrefix(c); err != nil || !prefix.Addr().Is4() {
			p.invalid(".spec.podCIDR", "%q is not an IPv4 network", c)
		}
	}
}

func (p *problems) lease(l *coordinationv1.Lease) {
	if d := l.Spec.LeaseDurationSeconds; d != nil {
		p.atLeast(".spec.leaseDurationSeconds", int64(*d), 1)
	}
	if t := l.Spec.LeaseTransitions; t != nil {
		p.atLeast(".spec.leaseTransitions", int64(*t), 0)
	}
}

func (p *problems) event(e *corev1.Event) {
	if ns := e.InvolvedObject.Namespace; ns != "" && e.Namespace != "" && ns != e.Namespace {
		p.invalid(".involvedObject.namespace", "must be the event's own namespace %q, not %q", e.Namespace, ns)
	}
	p.atLeast(".count", int64(e.Count), 0)
}

func (p *problems) release(r *api.Release) {
	p.atLeast(".spec.revision", r.Spec.Revision, 1)
	if r.Spec.Digest == "" {
		p.required(".spec.digest", "")
	}
	for i, item := range r.Spec.Inventory {
		at := api.IndexPath(".spec.inventory", i)
		if item.Kind == "" {
			p.required(at+".kind", "")
		}
		if item.Name == "" {
			p.required(at+".name", "")
		}
	}
}

func (p *problems) releaseRevision(r *api.ReleaseRevision) {
	p.atLeast(".spec.revision", r.Spec.Revision, 1)
	if r.Spec.Digest == "" {
		p.required(".spec.digest", "")
	}
	if want := fmt.Sprintf("%s.%d", r.Spec.Release, r.Spec.Revision); r.Spec.Release == "" {
		p.required(".spec.release", "")
	} else if r.Name != "" && r.Name != want {
		p.invalid(".metadata.name", "must be %q, which is what .spec.release and .spec.revision say", want)
	}
}
