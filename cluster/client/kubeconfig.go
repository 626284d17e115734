package client

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// kubeconfig is the part of a kubeconfig file that is read; see
// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/.
type kubeconfig struct {
	CurrentContext string `json:"current-context"`
	Contexts       []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster string `json:"cluster"`
			User    string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
	Clusters []struct {
		Name    string `json:"name"`
		Cluster struct {
			Server        string `json:"server"`
			CAData        string `json:"certificate-authority-data"`
			CAFile        string `json:"certificate-authority"`
			TLSServerName string `json:"tls-server-name"`
			Insecure      bool   `json:"insecure-skip-tls-verify"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string `json:"name"`
		User struct {
			CertData  string `json:"client-certificate-data"`
			CertFile  string `json:"client-certificate"`
			KeyData   string `json:"client-key-data"`
			KeyFile   string `json:"client-key"`
			Token     string `json:"token"`
			TokenFile string `json:"tokenFile"`
			Exec      any    `json:"exec"`
			Provider  any    `json:"auth-provider"`
		} `json:"user"`
	} `json:"users"`
}

// LoadKubeconfig reads the current context of a kubeconfig file.
func LoadKubeconfig(path string) (Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read kubeconfig: %w", err)
	}
	c, err := ParseKubeconfig(b, filepath.Dir(path))
	if err != nil {
		return Config{}, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return c, nil
}

// ParseKubeconfig reads the current context of a kubeconfig. Files it names
// are relative to dir. Credential programs and skipped verification are
// refused.
func ParseKubeconfig(b []byte, dir string) (Config, error) {
	var k kubeconfig
	if err := yaml.Unmarshal(b, &k); err != nil {
		return Config{}, err
	}
	if k.CurrentContext == "" && len(k.Contexts) == 1 {
		k.CurrentContext = k.Contexts[0].Name
	}
	var cluster, user string
	found := false
	for _, c := range k.Contexts {
		if c.Name == k.CurrentContext {
			cluster, user, found = c.Context.Cluster, c.Context.User, true
		}
	}
	if !found {
		return Config{}, fmt.Errorf("current-context %q is not among the contexts", k.CurrentContext)
	}
	var out Config
	if err := k.readCluster(cluster, dir, &out); err != nil {
		return Config{}, err
	}
	if err := k.readUser(user, dir, &out); err != nil {
		return Config{}, err
	}
	return out, nil
}

func (k *kubeconfig) readCluster(name, dir string, out *Config) (err error) {
	for _, c := range k.Clusters {
		if c.Name != name {
			continue
		}
		if c.Cluster.Insecure {
			return fmt.Errorf("cluster %q: insecure-skip-tls-verify is not supported", name)
		}
		out.Server, out.ServerName = c.Cluster.Server, c.Cluster.TLSServerName
		out.CA, err = material(c.Cluster.CAData, c.Cluster.CAFile, dir, "certificate-authority")
		return err
	}
	return fmt.Errorf("cluster %q is not defined", name)
}

func (k *kubeconfig) readUser(name, dir string, out *Config) (err error) {
	if name == "" {
		return nil
	}
	for _, u := range k.Users {
		if u.Name != name {
			continue
		}
		if u.User.Exec != nil || u.User.Provider != nil {
			return fmt.Errorf("user %q: credential programs (exec, auth-provider) are not supported", name)
		}
		if out.Cert, err = material(u.User.CertData, u.User.CertFile, dir, "client-certificate"); err != nil {
			return err
		}
		if out.Key, err = material(u.User.KeyData, u.User.KeyFile, dir, "client-key"); err != nil {
			return err
		}
		out.Token = u.User.Token
		if out.Token == "" && u.User.TokenFile != "" {
			b, err := material("", u.User.TokenFile, dir, "tokenFile")
			if err != nil {
				return err
			}
			out.Token = string(bytes.TrimSpace(b))
		}
		return nil
	}
	return fmt.Errorf("user %q is not defined", name)
}

// material returns inline base64 data, or else a file's content.
func material(data, file, dir, what string) ([]byte, error) {
	if data != "" {
		b, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, fmt.Errorf("%s-data: %w", what, err)
		}
		return b, nil
	}
	if file == "" {
		return nil, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return b, nil
}
