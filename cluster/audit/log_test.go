package audit_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/audit"
)

// run runs l and returns what stops it and waits.
func run(t *testing.T, l *audit.Log) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func lines(t *testing.T, path string) []map[string]any {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []map[string]any
	for s := bufio.NewScanner(f); s.Scan(); {
		var v map[string]any
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v in line %q", path, err, s.Text())
		}
		out = append(out, v)
	}
	return out
}

func TestEverythingPutIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l, err := audit.Open(audit.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, l)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("x", 3600))
	for i := range 1000 {
		l.Put(&audit.Event{AuditID: fmt.Sprint(i), Stage: audit.ResponseComplete, Verb: "get", Received: audit.Time{Time: at}})
	}
	stop()
	got := lines(t, path)
	if len(got) != 1000 || l.Lost() != 0 {
		t.Fatalf("%d of 1000 lines, %d lost", len(got), l.Lost())
	}
	for i, e := range got {
		if e["auditID"] != fmt.Sprint(i) || e["kind"] != "Event" || e["apiVersion"] != "audit.k8s.io/v1" || e["level"] != "Metadata" || e["requestReceivedTimestamp"] != "2026-01-02T02:04:05.000006Z" {
			t.Fatalf("line %d: %v", i, e)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	l.Put(&audit.Event{}) // after the end: neither blocks nor panics
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.log")
	const size = 4000
	for range 2 { // what an earlier run left counts too
		l, err := audit.Open(audit.Options{Path: path, MaxSize: size, MaxBackups: 3})
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, l)
		for i := range 100 {
			l.Put(&audit.Event{AuditID: fmt.Sprint(i), RequestURI: "/" + strings.Repeat("x", 100)})
		}
		stop()
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if info, err := e.Info(); err != nil || info.Size() > size || info.Size() == 0 {
			t.Errorf("%s: %d bytes, %v", e.Name(), info.Size(), err)
		}
	}
	if want := "audit.log audit.log.1 audit.log.2 audit.log.3"; strings.Join(names, " ") != want {
		t.Errorf("files %v, want %s", names, want)
	}
	var ids []string
	for _, n := range []string{".3", ".2", ".1", ""} {
		for _, e := range lines(t, path+n) {
			ids = append(ids, e["auditID"].(string))
		}
	}
	for i, id := range ids { // the newest are there, in order, without a hole
		if want := fmt.Sprint((100 - len(ids) + i + 100) % 100); id != want {
			t.Fatalf("event %d of %d is %s, want %s", i, len(ids), id, want)
		}
	}
}

func TestPutDoesNotWaitForTheDisk(t *testing.T) {
	// A pipe that nobody reads stands for a disk that does not answer.
	path := filepath.Join(t.TempDir(), "audit.log")
	l, err := audit.Open(audit.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	// Run is not running: the queue fills.
	start := time.Now()
	for range 4096 + 4 {
		l.Put(&audit.Event{})
	}
	if d := time.Since(start); d > 5*time.Second || l.Lost() != 4 {
		t.Errorf("4 events more than there is room for: %v, %d lost", d, l.Lost())
	}
	stop := run(t, l)
	stop()
	if n := len(lines(t, path)); n != 4096 {
		t.Errorf("%d lines written in the end", n)
	}
}

func TestUnwritable(t *testing.T) {
	if _, err := audit.Open(audit.Options{Path: filepath.Join(t.TempDir(), "no", "audit.log")}); err == nil || !strings.Contains(err.Error(), "open audit log") {
		t.Errorf("open in a directory that is not there: %v", err)
	}
}
