package apiserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
)

// as returns a client for requests by hand in somebody's name.
func (h *harness) as(t testing.TB, name string, groups ...string) *http.Client {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: h.userTLS(t, name, groups...), MaxIdleConnsPerHost: 1000}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// get reads an answer to its end and returns its code.
func get(ctx context.Context, c *http.Client, url string) (int, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header, err
}

// The program of TestFloodProgram is told by these what to do.
const (
	floodURL      = "WRIT_TEST_FLOOD_URL"
	floodConfig   = "WRIT_TEST_FLOOD_KUBECONFIG"
	floodRequests = "WRIT_TEST_FLOOD_REQUESTS"
)

// TestFloodProgram is no test: flood runs it as a program of its own, so that
// it does not share a scheduler with the server.
func TestFloodProgram(t *testing.T) {
	if os.Getenv(floodURL) == "" {
		t.Skip("for TestAFloodDoesNotStopOthers")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv(floodConfig))
	if err != nil {
		t.Fatal(err)
	}
	tc, err := rest.TLSConfigFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: tc, MaxIdleConnsPerHost: 1000}}
	requests, err := strconv.Atoi(os.Getenv(floodRequests))
	if err != nil {
		t.Fatal(err)
	}
	var connected sync.WaitGroup
	connected.Add(requests)
	for range requests {
		go func() {
			for first := true; ; first = false {
				if _, _, err := get(context.Background(), c, os.Getenv(floodURL)); err != nil {
					os.Exit(1)
				}
				if first {
					connected.Done()
				}
			}
		}()
	}
	connected.Wait() // the handshakes are not what this is about
	fmt.Println("flowing")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends, however it does
	os.Exit(0)
}

// flood fills a namespace and lets another client list it as fast as it can,
// with many requests at once, until the test ends.
func flood(t testing.TB, h *harness, requests int) {
	t.Helper()
	sys := h.registry.As(registry.System)
	for i := range 200 {
		if _, err := sys.Create(t.Context(), must(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"default"},"data":{"v":%q}}`, i, strings.Repeat("x", 500)))); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestFloodProgram$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), floodURL+"="+h.url+"/api/v1/namespaces/default/configmaps", floodConfig+"="+h.kubeconfig, floodRequests+"="+strconv.Itoa(requests))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the flood ended: %v", err)
		}
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "flowing\n" {
		t.Fatalf("the flood does not flow: %q, %v", line, err)
	}
}

// TestAFloodDoesNotStopOthers lets one client ask with more requests at once
// than the server has places, and another with one.
func TestAFloodDoesNotStopOthers(t *testing.T) {
	h := start(t)
	c := h.as(t, "victim", "system:masters")
	if code, _, err := get(t.Context(), c, h.url+"/api/v1/namespaces/default"); err != nil || code != http.StatusOK {
		t.Fatal(code, err)
	}
	flood(t, h, 500)
	var worst time.Duration
	for range 20 {
		time.Sleep(20 * time.Millisecond)
		began := time.Now()
		code, _, err := get(t.Context(), c, h.url+"/api/v1/namespaces/default/configmaps/c0")
		if err != nil || code != http.StatusOK {
			t.Fatalf("another's request: %d, %v", code, err)
		}
		worst = max(worst, time.Since(began))
	}
	t.Logf("another's slowest request took %v", worst)
	if worst > 5*time.Second {
		t.Errorf("another's request took %v", worst)
	}
}

// TestSlowBodiesDoNotStopOthers lets one client begin more requests than there
// are places, and finish none.
func TestSlowBodiesDoNotStopOthers(t *testing.T) {
	h := start(t)
	slow, other := h.as(t, "slow", "system:masters"), h.as(t, "other", "system:masters")
	if code, _, err := get(t.Context(), other, h.url+"/api/v1/namespaces/default"); err != nil || code != http.StatusOK {
		t.Fatal(code, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range 450 {
		wg.Go(func() {
			body, w := io.Pipe()
			defer context.AfterFunc(ctx, func() { w.Close() })()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/api/v1/namespaces/default/configmaps", body)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			if resp, err := slow.Do(req); err == nil {
				resp.Body.Close()
			}
		})
	}
	time.Sleep(2 * time.Second)                                   // until they are all there; fewer only make it easier
	ask, stop := context.WithTimeout(t.Context(), 30*time.Second) // less than the server gives a body
	defer stop()
	if code, _, err := get(ask, other, h.url+"/api/v1/namespaces/default"); err != nil || code != http.StatusOK {
		t.Errorf("another's request: %d, %v", code, err)
	}
}

// TestOneUsersWatchesAreBounded opens as many watches as one user may have.
func TestOneUsersWatchesAreBounded(t *testing.T) {
	h := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func(c *http.Client) (int, string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/api/v1/namespaces/default/configmaps?watch=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			resp.Body.Close()
		}
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	many := h.as(t, "many", "system:masters")
	many.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	code, opened := http.StatusOK, 0
	var after string
	for ; code == http.StatusOK && opened <= 2600; opened++ {
		code, after = open(many)
	}
	if code != http.StatusTooManyRequests || after == "" || opened != 2501 {
		t.Errorf("watch %d: %d, Retry-After %q", opened, code, after)
	}
	if code, _ := open(h.as(t, "few", "system:masters")); code != http.StatusOK {
		t.Errorf("another's watch: %d", code)
	}
	if code, _, err := get(ctx, many, h.url+"/api/v1/namespaces/default"); err != nil || code != http.StatusOK {
		t.Errorf("a request of the same user: %d, %v", code, err)
	}
}

// BenchmarkFlood is how long one client's single requests take while another
// sends as many as it can.
func BenchmarkFlood(b *testing.B) {
	for _, requests := range []int{0, 500} {
		b.Run(fmt.Sprintf("flood=%d", requests), func(b *testing.B) {
			h := start(b)
			c := h.as(b, "victim", "system:masters")
			if _, _, err := get(b.Context(), c, h.url+"/api/v1/namespaces/default"); err != nil {
				b.Fatal(err)
			}
			if requests > 0 {
				flood(b, h, requests)
			} else if _, err := h.registry.As(registry.System).Create(b.Context(), must(b, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c0","namespace":"default"}}`)); err != nil {
				b.Fatal(err)
			}
			var took []time.Duration
			refused := 0
			b.ResetTimer()
			for range b.N {
				time.Sleep(20 * time.Millisecond) // as a client that does something in between
				began := time.Now()
				code, _, err := get(b.Context(), c, h.url+"/api/v1/namespaces/default/configmaps/c0")
				if err != nil {
					b.Fatal(err)
				}
				if code != http.StatusOK {
					refused++
				}
				took = append(took, time.Since(began))
			}
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(100*float64(refused)/float64(b.N), "refused-%")
		})
	}
}

// createAll is a transaction that creates objects.
func createAll(objects ...object.Object) api.Transaction {
	var t api.Transaction
	for _, o := range objects {
		t.Operations = append(t.Operations, api.Operation{Action: api.ActionCreate, Object: o})
	}
	return t
}
