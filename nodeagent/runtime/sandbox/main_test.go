//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/nodeagent/runtime/runtimetest"
)

// Variables by which a test tells the test program that it starts again.
const (
	// roleEnv names something to do instead of running tests.
	roleEnv = "WRIT_SANDBOX_ROLE"
	// storeEnv is an image store that holds the probe already.
	storeEnv = "WRIT_SANDBOX_STORE"
)

func TestMain(m *testing.M) {
	Init()
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(playRole(role))
	}
	// An ordinary user runs the same tests, in a user namespace.
	if !Privileged() {
		code, err := Reenter(os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	code := m.Run()
	if scratch != "" {
		if err := os.RemoveAll(scratch); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// scratch is a directory for the image store, removed by TestMain.
var scratch string

// probeStore returns a store that holds the probe image; it is built once.
var probeStore = sync.OnceValues(func() (*image.Store, error) {
	if dir := os.Getenv(storeEnv); dir != "" {
		return image.Open(dir)
	}
	dir, err := os.MkdirTemp("", "writ-sandbox-test-")
	if err != nil {
		return nil, err
	}
	scratch = dir
	store, err := image.Open(filepath.Join(dir, "images"))
	if err != nil {
		return nil, err
	}
	return store, buildProbe(store)
})

const probe64 = "writ/probe:latest"

func buildProbe(store *image.Store) error {
	ctx, cancel := contextFor(probeBuildTime)
	defer cancel()
	result, err := store.Build(ctx, image.BuildOptions{Dir: filepath.Join("..", "runtimetest", runtimetest.ProbeDir), Ref: probe64})
	if err == nil && result.Digest == "" {
		err = errors.New("build gave no digest")
	}
	return err
}

func openRuntime(t testing.TB) *Runtime {
	t.Helper()
	store, err := probeStore()
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{Dir: t.TempDir(), Images: store})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
