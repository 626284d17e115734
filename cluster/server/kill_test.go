package server_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/server"
)

// dataVariable makes this binary a server on that data directory;
// roundsVariable is how often TestKill kills it.
const (
	dataVariable   = "WRIT_TEST_SERVER_DATA"
	roundsVariable = "WRIT_TEST_KILL_ROUNDS"
)

func TestMain(m *testing.M) {
	if data := os.Getenv(dataVariable); data != "" {
		s, err := server.New(server.Options{Data: data, Listen: "127.0.0.1:0"})
		if err == nil {
			go func() {
				<-s.Ready()
				fmt.Println("ready")
			}()
			err = s.Run(context.Background())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const (
	writers = 4
	parts   = 3 // objects of one writer, always written together
)

// promise is what a writer was told.
type promise struct {
	number   int    // the last transaction acknowledged
	tried    int    // the last one sent
	revision uint64 // of the last acknowledged
}

// TestKill kills a server again and again while clients apply transactions:
// what was acknowledged is there, each transaction is there whole or not at
// all, and revisions never go back.
func TestKill(t *testing.T) {
	rounds := 6
	if n, err := strconv.Atoi(os.Getenv(roundsVariable)); err == nil {
		rounds = n
	}
	data := t.TempDir()
	var promises [writers]promise
	for round := range rounds {
		p := spawn(t, data)
		c := adminOf(t, data)
		verify(t, round, c, &promises)
		time.AfterFunc(time.Duration(rand.IntN(700))*time.Millisecond, func() { p.Process.Kill() })
		applyUntilKilled(t, c, &promises)
		p.Wait()
		c.Close()
	}
	p := spawn(t, data)
	c := adminOf(t, data)
	defer c.Close()
	verify(t, rounds, c, &promises)
	p.Process.Kill()
	p.Wait()
	total := 0
	for _, p := range promises {
		total += p.number
	}
	if total == 0 {
		t.Fatal("nothing was acknowledged in any round")
	}
	t.Logf("%d transactions acknowledged in %d rounds", total, rounds)
}

// spawn starts a server process and waits until it serves.
func spawn(t *testing.T, data string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), dataVariable+"="+data)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line := make([]byte, 16)
	if n, err := out.Read(line); err != nil || string(line[:n]) != "ready\n" {
		cmd.Wait()
		t.Fatalf("the server says %q, %v: %s", line[:n], err, errs.String())
	}
	return cmd
}

func adminOf(t *testing.T, data string) *client.Client {
	t.Helper()
	c, err := client.FromKubeconfig(data + "/admin.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func part(t testing.TB, writer, i, number int) object.Object {
	return doc(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w%d-%d","namespace":"default"},"data":{"number":"%d","padding":%q}}`,
		writer, i, number, strings.Repeat("x", 2000))
}

// applyUntilKilled has every writer replace its parts by the next number, again
// and again, until the server does not answer any more.
func applyUntilKilled(t *testing.T, c *client.Client, promises *[writers]promise) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for w := range writers {
		p := &promises[w]
		wg.Go(func() {
			for {
				action := api.ActionUpdate
				if _, err := c.Get(ctx, api.ConfigMap.Key("default", fmt.Sprintf("w%d-0", w))); err != nil {
					action = api.ActionCreate
				}
				p.tried++
				var tx api.Transaction
				for i := range parts {
					tx.Operations = append(tx.Operations, api.Operation{Action: action, Object: part(t, w, i, p.tried)})
				}
				res, err := c.Transact(ctx, tx)
				if err != nil {
					return
				}
				if res.Revision <= p.revision {
					t.Errorf("writer %d: revision %d after %d", w, res.Revision, p.revision)
				}
				p.number, p.revision = p.tried, res.Revision
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatal("the server was not killed")
	}
}

func verify(t *testing.T, round int, c *client.Client, promises *[writers]promise) {
	t.Helper()
	l, err := c.List(t.Context(), api.ConfigMap, api.ListOptions{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	var found [writers][parts]int
	for _, o := range l.Items {
		var w, i int
		if n, _ := fmt.Sscanf(o.Name(), "w%d-%d", &w, &i); n != 2 {
			continue
		}
		data, _ := o.Tree()["data"].(map[string]any)
		text, _ := data["number"].(string)
		found[w][i], _ = strconv.Atoi(text)
	}
	for w, p := range promises {
		for i := range parts {
			if found[w][i] != found[w][0] {
				t.Fatalf("round %d: writer %d has half a transaction: %v", round, w, found[w])
			}
		}
		if got := found[w][0]; got < p.number || got > p.tried {
			t.Fatalf("round %d: writer %d has %d; %d was acknowledged and %d sent", round, w, got, p.number, p.tried)
		}
		if l.Revision < p.revision {
			t.Fatalf("round %d: at revision %d, but %d was acknowledged", round, l.Revision, p.revision)
		}
		// What was sent last may be there without an answer; go on after it.
		promises[w].tried = max(found[w][0], p.tried)
	}
}
