package git_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/writ-dev/writ/apply/git"
)

const password = "t0p/secret+word"

// TestHTTPS fetches from git's own http server, behind TLS and a password.
func TestHTTPS(t *testing.T) {
	r := newRepository(t)
	id := r.commit(map[string]string{"a": "1"})
	execPath, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"), Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1"}, InheritEnv: []string{"PATH"},
		Stderr: io.Discard,
	}
	var elsewhere atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, pass, _ := req.BasicAuth()
		switch {
		case strings.HasPrefix(req.URL.Path, "/redirect/"):
			http.Redirect(w, req, other.URL+req.URL.Path, http.StatusFound)
		case strings.HasPrefix(req.URL.Path, "/hang/"):
			<-req.Context().Done()
		case name == "robot" && pass == password:
			backend.ServeHTTP(w, req)
		default:
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you? \x1b[31m", http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	good := git.Credentials{Username: "robot", Password: password, CA: ca}
	url := server.URL + "/" + filepath.Base(r.dir) + "/.git"

	m := openMirror(t, git.Options{})
	if got := fetch(t, m, git.Remote{URL: url, Credentials: good}); got.ID != id {
		t.Fatalf("got %v, want %s", got, id)
	}
	next := r.commit(map[string]string{"a": "2"})
	if got := fetch(t, m, git.Remote{URL: url, Ref: next, Credentials: good}); got.ID != next {
		t.Fatalf("got %v, want %s", got, next)
	}
	for name, remote := range map[string]git.Remote{
		"no password":    {URL: url, Credentials: git.Credentials{CA: ca}},
		"wrong password": {URL: url, Credentials: git.Credentials{Username: "robot", Password: password + "x", CA: ca}},
		"strange server": {URL: url, Credentials: git.Credentials{Username: "robot", Password: password}},
		"redirected":     {URL: server.URL + "/redirect/a", Credentials: good},
	} {
		_, err := m.Fetch(t.Context(), remote)
		wantReason(t, err, git.Unreachable, "")
		if err != nil && (strings.Contains(err.Error(), "t0p") || strings.ContainsAny(err.Error(), "\x1b\n")) {
			t.Errorf("%s: the error has the password or control characters in it: %q", name, err)
		}
	}
	begin := time.Now()
	_, err = openMirror(t, git.Options{Timeout: time.Second}).Fetch(t.Context(), git.Remote{URL: server.URL + "/hang/a", Credentials: good})
	wantReason(t, err, git.Unreachable, "not done within 1s")
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("a server that does not answer takes %s", took)
	}
	if elsewhere.Load() > 0 {
		t.Error("a redirect was followed")
	}
	left, err := os.ReadDir(filepath.Dir(m.Tree()))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "run-") {
			t.Errorf("%s is left, where credentials were", e.Name())
		}
	}
}

// TestSSH fetches from a server that knows one key and runs git-upload-pack.
func TestSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("there is no ssh here")
	}
	r := newRepository(t)
	id := r.commit(map[string]string{"a": "1"})
	clientKey, clientPublic := newKey(t)
	strangerKey, _ := newKey(t)
	hostKey, hostPublic := newKey(t)
	addr := serveSSH(t, hostKey, clientPublic)
	line := func(key ssh.PublicKey) []byte {
		hostname, port, _ := net.SplitHostPort(addr)
		return append([]byte("["+hostname+"]:"+port+" "), ssh.MarshalAuthorizedKey(key)...)
	}
	known := line(hostPublic)
	url := "ssh://git@" + addr + r.dir
	m := openMirror(t, git.Options{Timeout: 20 * time.Second})
	trimmed := bytes.TrimSpace(clientKey) // as a Secret may have it
	if got := fetch(t, m, git.Remote{URL: url, Credentials: git.Credentials{SSHKey: trimmed, KnownHosts: known}}); got.ID != id {
		t.Fatalf("got %v, want %s", got, id)
	}
	for name, tt := range map[string]struct {
		c    git.Credentials
		want git.Reason
		text string
	}{
		"no known hosts": {git.Credentials{SSHKey: clientKey}, git.InvalidRemote, "known_hosts"},
		"no key":         {git.Credentials{KnownHosts: known}, git.InvalidRemote, "private key"},
		"another key":    {git.Credentials{SSHKey: strangerKey, KnownHosts: known}, git.Unreachable, "Permission denied"},
		"another host":   {git.Credentials{SSHKey: clientKey, KnownHosts: line(clientPublic)}, git.Unreachable, "Host key verification failed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.Fetch(t.Context(), git.Remote{URL: url, Credentials: tt.c})
			wantReason(t, err, tt.want, tt.text)
		})
	}
}

func newKey(t *testing.T) (private []byte, public ssh.PublicKey) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "test")
	if err != nil {
		t.Fatal(err)
	}
	if public, err = ssh.NewPublicKey(pub); err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block), public
}

// serveSSH serves git-upload-pack, and nothing else, to the holder of one key.
func serveSSH(t *testing.T, hostKey []byte, client ssh.PublicKey) (addr string) {
	t.Helper()
	signer, err := ssh.ParsePrivateKey(hostKey)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if bytes.Equal(key.Marshal(), client.Marshal()) {
			return nil, nil
		}
		return nil, errors.New("unknown key")
	}}
	config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, channels, requests, err := ssh.NewServerConn(conn, config)
				if err != nil {
					return
				}
				go ssh.DiscardRequests(requests)
				for c := range channels {
					serveSession(c)
				}
			}()
		}
	}()
	return l.Addr().String()
}

func serveSession(c ssh.NewChannel) {
	if c.ChannelType() != "session" {
		_ = c.Reject(ssh.UnknownChannelType, "only sessions")
		return
	}
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	go func() {
		defer channel.Close()
		for req := range requests {
			var command struct{ Text string }
			dir, isGit := "", false
			if req.Type == "exec" && ssh.Unmarshal(req.Payload, &command) == nil {
				dir, isGit = strings.CutPrefix(command.Text, "git-upload-pack ")
			}
			if req.WantReply {
				_ = req.Reply(isGit || req.Type == "env", nil)
			}
			if !isGit {
				continue
			}
			cmd := exec.Command("git", "upload-pack", strings.Trim(dir, "'"))
			in, _ := cmd.StdinPipe()
			cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
			status := struct{ Code uint32 }{1}
			if cmd.Start() == nil {
				go func() { _, _ = io.Copy(in, channel); in.Close() }()
				if cmd.Wait() == nil {
					status.Code = 0
				}
			}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
			return
		}
	}()
}
