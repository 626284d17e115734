package git

import (
	"net/url"
	"path/filepath"
	"strings"
)

// https adds how to be who to an https server.
func (w *workshop) https(settings []setting, c Credentials) ([]setting, error) {
	if len(c.CA) > 0 {
		if err := w.write("ca.pem", c.CA); err != nil {
			return nil, err
		}
		settings = append(settings, setting{"http", "sslCAInfo", w.path("ca.pem")})
	}
	if c.Password == "" {
		return settings, nil
	}
	if strings.ContainsAny(c.Username+c.Password, "\n\r\x00") {
		return nil, fail(InvalidRemote, "the username or the password has a line break in it")
	}
	name := c.Username
	if name == "" {
		name = "git"
	}
	w.secrets = append(w.secrets, c.Password, url.QueryEscape(c.Password), url.PathEscape(c.Password))
	// git asks this script; what it answers is in the files beside it.
	if err := w.write("username", []byte(name+"\n")); err != nil {
		return nil, err
	}
	if err := w.write("password", []byte(c.Password+"\n")); err != nil {
		return nil, err
	}
	helper := "!f() { test \"$1\" = get || exit 0; printf 'username='; cat " + shellQuote(w.path("username")) +
		"; printf 'password='; cat " + shellQuote(w.path("password")) + "; }; f"
	return append(settings, setting{"credential", "helper", helper}), nil
}

// ssh adds how to be who to an ssh server, and by which key that is known.
func (w *workshop) ssh(c Credentials) error {
	if len(c.KnownHosts) == 0 {
		return fail(InvalidRemote, "a repository over ssh needs known_hosts, to know the server by")
	}
	if err := w.write("known_hosts", c.KnownHosts); err != nil {
		return err
	}
	command := []string{"ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes",
		"-o", "UserKnownHostsFile=" + w.path("known_hosts"), "-o", "GlobalKnownHostsFile=none", "-o", "UpdateHostKeys=no",
		"-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no", "-o", "ControlPath=none",
		"-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"}
	switch {
	case len(c.SSHKey) > 0:
		key := c.SSHKey
		if key[len(key)-1] != '\n' { // ssh takes a key without it for none
			key = append(key[:len(key):len(key)], '\n')
		}
		if err := w.write("identity", key); err != nil {
			return err
		}
		command = append(command, "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-i", w.path("identity"))
	case c.Agent != "":
		command = append(command, "-o", "IdentityAgent="+c.Agent)
	default:
		return fail(InvalidRemote, "a repository over ssh needs a private key")
	}
	for i, word := range command {
		command[i] = shellQuote(word)
	}
	w.env = append(w.env, "GIT_SSH_VARIANT=ssh", "GIT_SSH_COMMAND="+strings.Join(command, " "))
	return nil
}

func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(filepath.ToSlash(s), "'", `'\''`) + "'"
}
