package probe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// target probes a local server in the place of a pod.
func target(t *testing.T, address string) (Target, intstr.IntOrString) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n := intstr.Parse(port)
	return Target{
		IP:    host,
		Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: n.IntVal}},
		Dial:  new(net.Dialer).DialContext,
	}, n
}

func TestHTTP(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect to another host was followed")
	}))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" && r.URL.RawQuery != "deep=1" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	mux.HandleFunc("/sick", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "disk full")
	})
	mux.HandleFunc("/host", func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "example.test" || r.Header.Get("X-Probe") != "1" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.Handle("/away", http.RedirectHandler(other.URL, http.StatusFound))
	mux.Handle("/home", http.RedirectHandler("/ok", http.StatusFound))
	mux.Handle("/lost", http.RedirectHandler("/sick", http.StatusFound))
	server := httptest.NewServer(mux)
	defer server.Close()
	to, port := target(t, server.Listener.Addr().String())
	for _, c := range []struct {
		name, want string
		get        corev1.HTTPGetAction
	}{
		{"ok", "", corev1.HTTPGetAction{Path: "/ok"}},
		{"no slash", "", corev1.HTTPGetAction{Path: "ok"}},
		{"query", "", corev1.HTTPGetAction{Path: "/ok?deep=1"}},
		{"named port", "", corev1.HTTPGetAction{Path: "/ok", Port: intstr.FromString("web")}},
		{"unknown port", `no port "db"`, corev1.HTTPGetAction{Path: "/ok", Port: intstr.FromString("db")}},
		{"status", "HTTP status 503: disk full", corev1.HTTPGetAction{Path: "/sick"}},
		{"headers", "", corev1.HTTPGetAction{Path: "/host", HTTPHeaders: []corev1.HTTPHeader{{Name: "Host", Value: "example.test"}, {Name: "X-Probe", Value: "1"}}}},
		{"timeout", "no answer within 1s", corev1.HTTPGetAction{Path: "/slow"}},
		{"redirect elsewhere", "", corev1.HTTPGetAction{Path: "/away"}},
		{"redirect", "", corev1.HTTPGetAction{Path: "/home"}},
		{"redirect to failure", "HTTP status 503", corev1.HTTPGetAction{Path: "/lost"}},
		{"other host", "only the pod itself", corev1.HTTPGetAction{Path: "/ok", Host: "169.254.169.254"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.get.Port == (intstr.IntOrString{}) {
				c.get.Port = port
			}
			err := Check(t.Context(), &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &c.get}}, to)
			expect(t, err, c.want)
		})
	}
}

func expect(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v, want success", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to, port := target(t, l.Addr().String())
	p := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}}
	expect(t, Check(t.Context(), p, to), "")
	l.Close()
	expect(t, Check(t.Context(), p, to), "connection refused")
	p.TCPSocket.Host = "10.0.0.1"
	expect(t, Check(t.Context(), p, to), "only the pod itself")
}

func TestExec(t *testing.T) {
	to := Target{Exec: func(_ context.Context, argv []string, out io.Writer) (int, error) {
		_, err := io.WriteString(out, strings.Repeat("no! ", 1000))
		return len(argv) - 1, err
	}}
	p := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	expect(t, Check(t.Context(), p, to), "")
	p.Exec.Command = []string{"false", "1"}
	err := Check(t.Context(), p, to)
	expect(t, err, "command exited with 1: no! no!")
	if len(err.Error()) > 2*maxOutput {
		t.Errorf("message of %d bytes", len(err.Error()))
	}
	expect(t, Check(t.Context(), &corev1.Probe{}, to), "not supported")
}

func TestTally(t *testing.T) {
	tally := Tally{Success: 2, Failure: 3}
	var got strings.Builder
	for _, r := range "+-++++--+---+-++" {
		mark := "."
		if tally.Add(r == '+') {
			mark = map[bool]string{true: "R", false: "F"}[tally.OK]
		}
		got.WriteString(mark)
	}
	if want := "...R.......F...R"; got.String() != want {
		t.Errorf("got  %s\nwant %s", got.String(), want)
	}
}

// The schedule of attempts: eager until the first success, then by period.
func TestRunSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		readyAt := start.Add(5100 * time.Millisecond)
		to := Target{Exec: func(context.Context, []string, io.Writer) (int, error) {
			if time.Now().Before(readyAt) {
				return 1, nil
			}
			return 0, nil
		}}
		p := &corev1.Probe{
			ProbeHandler:        corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}},
			InitialDelaySeconds: 5, PeriodSeconds: 10,
		}
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		var changes []time.Duration
		attempts := 0
		Run(ctx, p, to, func(r Result) {
			attempts++
			if r.Changed {
				changes = append(changes, time.Since(start))
			}
		})
		if len(changes) != 1 || changes[0] < 5100*time.Millisecond || changes[0] > 5300*time.Millisecond {
			t.Errorf("became ready at %v", changes)
		}
		if attempts < 8 || attempts > 14 {
			t.Errorf("%d attempts in a minute", attempts)
		}
	})
}
