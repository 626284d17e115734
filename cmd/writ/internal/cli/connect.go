package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-dev/writ/cluster/client"
)

// connect finds the cluster that a verb talks to: --kubeconfig,
// $WRIT_KUBECONFIG, $KUBECONFIG, or else the one cluster that `writ up` runs
// on this machine for this user.
func (a *app) connect() (*client.Client, error) {
	path, err := a.findKubeconfig()
	if err != nil {
		return nil, err
	}
	return client.FromKubeconfig(path)
}

func (a *app) findKubeconfig() (string, error) {
	for _, p := range []string{a.kubeconfig, os.Getenv("WRIT_KUBECONFIG"), os.Getenv("KUBECONFIG")} {
		if p != "" {
			return p, nil
		}
	}
	base, err := stateHome()
	if err != nil {
		return "", err
	}
	running, err := filepath.Glob(filepath.Join(base, "up", "*", kubeconfigName))
	if err != nil {
		return "", err
	}
	switch len(running) {
	case 0:
		return "", errors.New("no cluster is running here; start one with 'writ up DIR' or 'writ server', or name one with --kubeconfig")
	case 1:
		return running[0], nil
	}
	return "", fmt.Errorf("several clusters are running here; choose one with --kubeconfig:\n  %s", strings.Join(running, "\n  "))
}

// kubeconfigName is the file in a run directory that other commands look for.
const kubeconfigName = "kubeconfig"
