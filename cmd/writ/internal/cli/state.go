package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// stateHome is where running clusters keep their state: $XDG_STATE_HOME/writ,
// ~/.local/state/writ, or a private directory below the temporary one for
// users without a usable home.
func stateHome() (string, error) {
	return firstUsable("XDG_STATE_HOME", filepath.Join(".local", "state"), "state")
}

// cacheHome is where images and build results are kept between runs.
func cacheHome() (string, error) {
	return firstUsable("XDG_CACHE_HOME", ".cache", "cache")
}

func firstUsable(env, belowHome, name string) (string, error) {
	var candidates []string
	if v := os.Getenv(env); filepath.IsAbs(v) {
		candidates = append(candidates, filepath.Join(v, "writ"))
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		candidates = append(candidates, filepath.Join(home, belowHome, "writ"))
	}
	candidates = append(candidates, filepath.Join(os.TempDir(), "writ-"+hostUID(), name))
	var first error
	for _, c := range candidates {
		err := writable(c)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", fmt.Errorf("find a directory to write to: %w", first)
}

// writable makes dir and proves that a file can be made in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// hostUID is the user's id outside any user namespace that writ has entered.
func hostUID() string {
	if b, err := os.ReadFile("/proc/self/uid_map"); err == nil {
		if f := strings.Fields(string(b)); len(f) == 3 && f[0] == "0" {
			return f[1]
		}
	}
	return strconv.Itoa(os.Getuid())
}
