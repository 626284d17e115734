//go:build linux

package sandbox

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-dev/writ/nodeagent/runtime/runtimetest"
)

const (
	probeBuildTime = 3 * time.Minute
	nobody         = 65534
)

func contextFor(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

func TestContract(t *testing.T) {
	ids, err := readIDMaps("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	users := mapped(ids.users, 1234) && mapped(ids.groups, 567)
	runtimetest.Run(t, func(t *testing.T) runtimetest.Fixture {
		return runtimetest.Fixture{Runtime: openRuntime(t), Image: probe64, Users: users}
	})
}

// TestContractAsNobody runs the suite, and the leak tests, once more as a user
// without any rights. An ordinary user's own run of TestContract is just that,
// so this test is for root.
func TestContractAsNobody(t *testing.T) {
	if os.Getenv(reentered) != "" || os.Getuid() != 0 {
		t.Skip("this run is already one of an ordinary user in a user namespace")
	}
	dir, env := nobodyHome(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "sandbox.test"), "-test.v", "-test.run", "^(TestContract|TestNothingIsLeft|TestDiesWithParent|TestLayersAreOneTree|TestLinksStayInside|TestImageUser)$", "-test.timeout", "170s")
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("tests as nobody: %v\n%s", err, out)
	}
	for _, test := range []string{"TestContract/users", "TestContract/exec", "TestNothingIsLeft", "TestDiesWithParent", "TestLayersAreOneTree", "TestImageUser"} {
		if !strings.Contains(string(out), "--- PASS: "+test) {
			t.Errorf("%s did not run:\n%s", test, out)
		}
	}
}

// nobodyHome makes a directory of nobody's with this test program and the
// image store in it, and an environment to run the program in.
func nobodyHome(t *testing.T) (dir string, env []string) {
	t.Helper()
	store, err := probeStore()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Resolve(probe64); err != nil {
		t.Fatal(err)
	}
	// t.TempDir is not open to others.
	dir, err = os.MkdirTemp("", "writ-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	images := filepath.Join(dir, "images")
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "sandbox.test"), program, 0o755),
		os.CopyFS(filepath.Join(images, "blobs"), os.DirFS(filepath.Join(scratch, "images", "blobs"))),
		copyFile(images, "oci-layout"), copyFile(images, "index.json"),
		os.Mkdir(filepath.Join(dir, "tmp"), 0o755),
		filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, nobody, nobody)
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{storeEnv + "=" + images, "TMPDIR=" + filepath.Join(dir, "tmp"), "HOME=/nonexistent", "PATH=" + os.Getenv("PATH")}
}

func copyFile(dir, name string) error {
	data, err := os.ReadFile(filepath.Join(scratch, "images", name))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), data, 0o644)
}
