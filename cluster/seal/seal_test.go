package seal_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/writ-dev/writ/cluster/seal"
)

func ring(t testing.TB) (*seal.Ring, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	r, err := seal.OpenOrCreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return r, path
}

func TestRecords(t *testing.T) {
	r, path := ring(t)
	plain, place := []byte("attack at dawn"), []byte("entry 7")
	sealed := r.Seal(plain, place)
	if !seal.IsSealed(sealed) || seal.IsSealed(plain) || bytes.Contains(sealed, plain) {
		t.Fatalf("sealed to %x", sealed)
	}
	if bytes.Equal(sealed, r.Seal(plain, place)) {
		t.Error("sealed twice to the same bytes")
	}
	for range 2 {
		got, err := r.Open(sealed, place)
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("opened to %q, %v", got, err)
		}
		// A later process has another data key, and opens it as well.
		if r, err = seal.OpenFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Open(sealed, []byte("entry 8")); !errors.Is(err, seal.ErrDamaged) {
		t.Errorf("in another place: %v", err)
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := r.Open(bad, place); err == nil {
			t.Fatalf("opened with byte %d changed", i)
		}
		if _, err := r.Open(sealed[:i], place); err == nil {
			t.Fatalf("opened with %d bytes", i)
		}
	}
	other, _ := ring(t)
	if _, err := other.Open(sealed, place); !errors.Is(err, seal.ErrNoKey) || !strings.Contains(err.Error(), r.Primary().String()) {
		t.Errorf("with another key: %v", err)
	}
}

func TestRotation(t *testing.T) {
	r, path := ring(t)
	old := r.Seal([]byte("x"), nil)
	first := r.Primary()
	second, err := seal.Rotate(path)
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := r.Reload(path); err != nil || !changed || r.Primary() != second || len(r.IDs()) != 2 {
		t.Fatalf("reload: %v %v %v", changed, err, r.IDs())
	}
	if changed, err := r.Reload(path); err != nil || changed {
		t.Errorf("reload of the same: %v %v", changed, err)
	}
	if got, err := r.Open(old, nil); err != nil || string(got) != "x" {
		t.Errorf("the older key: %q, %v", got, err)
	}
	fresh := r.Seal([]byte("y"), nil)
	if n, err := seal.Prune(path); err != nil || n != 1 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	if changed, err := r.Reload(path); err != nil || changed {
		t.Errorf("reload after pruning: %v %v", changed, err)
	}
	if _, err := r.Open(old, nil); !errors.Is(err, seal.ErrNoKey) || !strings.Contains(err.Error(), first.String()) {
		t.Errorf("without the older key: %v", err)
	}
	if _, err := r.Open(fresh, nil); err != nil {
		t.Error(err)
	}
}

func TestFiles(t *testing.T) {
	_, path := ring(t)
	if _, err := seal.CreateFile(path); err == nil {
		t.Error("a key file was replaced")
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(strings.TrimSpace(string(good)), "\n")[1]
	for name, text := range map[string]string{
		"empty": "", "comment": "# nothing\n", "word": "key " + line, "short": "writ-key-1 00ff\n", "twice": line + "\n" + line + "\n", "three": line + " x\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := seal.OpenFile(path)
		if err == nil {
			t.Errorf("%s: opened", name)
			continue
		}
		if secret := strings.Fields(line)[1]; strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error tells the key", name)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.OpenFile(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that all can read: %v", err)
	}
}

func TestStreams(t *testing.T) {
	r, _ := ring(t)
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000} {
		plain := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		sealed := stream(t, r, plain)
		if size > 20 && bytes.Contains(sealed, plain[:20]) {
			t.Fatalf("%d bytes: the plain text is in it", size)
		}
		from, is, err := r.NewReader(iotest.OneByteReader(bytes.NewReader(sealed)))
		if err != nil || !is {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(from); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("%d bytes: %d came back, %v", size, len(got), err)
		}
	}
	sealed := stream(t, r, make([]byte, 200_000))
	chunk := 4 + 64<<10 + 16
	head := len(sealed) - (3*chunk + 4 + 200_000 - 3*64<<10 + 16)
	for name, bad := range map[string][]byte{
		"cut after a chunk": sealed[:head+2*chunk],
		"cut in a chunk":    sealed[:len(sealed)-1],
		"cut in the head":   sealed[:head-1],
		"more":              append(bytes.Clone(sealed), 0),
		"chunks exchanged":  append(append(append(bytes.Clone(sealed[:head]), sealed[head+chunk:head+2*chunk]...), sealed[head:head+chunk]...), sealed[head+2*chunk:]...),
	} {
		from, _, err := r.NewReader(bytes.NewReader(bad))
		if err == nil {
			_, err = io.ReadAll(from)
		}
		if !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	from, is, err := r.NewReader(strings.NewReader("WRITSTATE\nplain"))
	if err != nil || is {
		t.Fatal(is, err)
	}
	if got, err := io.ReadAll(from); err != nil || string(got) != "WRITSTATE\nplain" {
		t.Errorf("a plain stream: %q, %v", got, err)
	}
}

func stream(t testing.TB, r *seal.Ring, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := r.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzOpen: whatever is on a disk is refused and never a panic.
func FuzzOpen(f *testing.F) {
	r, _ := ring(f)
	f.Add(r.Seal([]byte("x"), nil))
	f.Add(stream(f, r, []byte("y")))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = r.Open(b, []byte("elsewhere"))
		if from, _, err := r.NewReader(bytes.NewReader(b)); err == nil {
			_, _ = io.Copy(io.Discard, from)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	r, _ := ring(b)
	plain := make([]byte, 1024)
	b.SetBytes(1024)
	for b.Loop() {
		r.Seal(plain, nil)
	}
}
