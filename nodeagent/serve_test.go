//go:build linux

package nodeagent

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/nodeagent/logs"
)

// logClient is an HTTP client with a certificate of the cluster for a name.
func (c *cluster) logClient(name string) *http.Client {
	c.t.Helper()
	pair, err := c.ca.Issue(auth.Subject{Name: name})
	if err != nil {
		c.t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		c.t.Fatal(err)
	}
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: c.ca.Pool(), Certificates: []tls.Certificate{cert}},
	}}
}

// logURL finds the agent by its Node object.
func (c *cluster) logURL(p *corev1.Pod, query string) string {
	c.t.Helper()
	n, err := get[corev1.Node](c.t.Context(), c.system, api.Node.Key("", nodeName))
	if err != nil {
		c.t.Fatal(err)
	}
	return fmt.Sprintf("https://%s:%d/containerLogs/%s/%s/app?%s", n.Status.Addresses[0].Address,
		n.Status.DaemonEndpoints.KubeletEndpoint.Port, p.Namespace, p.Name, query)
}

func (c *cluster) log(p *corev1.Pod, query string) (string, error) {
	c.t.Helper()
	resp, err := c.logClient(logReader).Get(c.logURL(p, query))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, b)
	}
	return string(b), err
}

func TestLogs(t *testing.T) {
	c := newCluster(t)
	p := app("job", "say", "hello", "3")
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	p = c.bind(p)
	c.grant(p)
	p = c.until(p, "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if s := p.Status.ContainerStatuses[0].State.Terminated; s == nil || s.ExitCode != 3 || s.Reason != "Error" {
		t.Errorf("state %+v", p.Status.ContainerStatuses[0].State)
	}
	const all = "args say hello 3\nhello\n"
	for query, want := range map[string]string{"": all, "follow=true": all, "tailLines=1": "hello\n", "limitBytes=4": "args"} {
		if got, err := c.log(p, query); err != nil || got != want {
			t.Errorf("%q: got %q, %v", query, got, err)
		}
	}
	if got, err := c.log(p, "timestamps=1&tailLines=1"); err != nil || !strings.HasSuffix(got, "Z hello\n") {
		t.Errorf("timestamps: got %q, %v", got, err)
	}
	if _, err := c.log(p, "previous=true"); err == nil || !strings.Contains(err.Error(), "previous terminated container") {
		t.Errorf("previous: %v", err)
	}
	if _, err := c.log(p, "tailLines=x"); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("bad query: %v", err)
	}
	for _, name := range []string{"admin", "system:node:other"} {
		resp, err := c.logClient(name).Get(c.logURL(p, ""))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s may read logs: %s", name, resp.Status)
		}
	}
	var alert *tls.CertificateVerificationError
	nobody := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.ca.Pool()}}}
	if resp, err := nobody.Get(c.logURL(p, "")); err == nil {
		resp.Body.Close()
		t.Error("logs without a certificate")
	} else if errors.As(err, &alert) {
		t.Errorf("the server's own certificate is bad: %v", err)
	}
}

func TestParseLogOptions(t *testing.T) {
	now := time.Date(2026, 12, 1, 7, 0, 0, 0, time.UTC)
	for query, want := range map[string]logs.ReadOptions{
		"":                                       {Tail: -1},
		"follow=true&previous=1&timestamps=true": {Tail: -1, Follow: true, Previous: true, Timestamps: true},
		"tailLines=0&limitBytes=7":               {Limit: 7},
		"sinceSeconds=60":                        {Tail: -1, Since: now.Add(-time.Minute)},
		"sinceTime=2026-12-01T06:00:00Z":         {Tail: -1, Since: now.Add(-time.Hour)},
	} {
		q, _ := url.ParseQuery(query)
		if got, err := parseLogOptions(q, now); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", query, got, err)
		}
	}
	for _, query := range []string{"follow=maybe", "tailLines=-1", "limitBytes=0", "sinceTime=yesterday", "sinceSeconds=x"} {
		q, _ := url.ParseQuery(query)
		if _, err := parseLogOptions(q, now); err == nil {
			t.Errorf("%s was accepted", query)
		}
	}
}
