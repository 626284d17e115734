package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/apply/git"
)

func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip("there is no " + p + " here")
		}
	}
}

func output(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestVerifySSH(t *testing.T) {
	need(t, "ssh-keygen")
	keys := t.TempDir()
	signer := func(name string) string {
		output(t, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", filepath.Join(keys, name))
		b, err := os.ReadFile(filepath.Join(keys, name+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		return name + "@example.com " + string(b)
	}
	ann, bob := signer("ann"), signer("bob")
	r := newRepository(t)
	plain := r.commit(map[string]string{"a": "1"})
	sign := func(name string) string {
		r.git("-c", "gpg.format=ssh", "-c", "user.signingKey="+filepath.Join(keys, name), "commit", "--quiet", "--allow-empty", "-S", "-m", "signed")
		return r.git("rev-parse", "HEAD")
	}
	byAnn, byBob := sign("ann"), sign("bob")
	forged := r.pipe(strings.Replace(r.git("cat-file", "commit", byAnn)+"\n", "\n\nsigned", "\n\nforged", 1), "hash-object", "-t", "commit", "-w", "--stdin")

	m := openMirror(t, git.Options{AllowFile: true})
	check := func(id string, s git.Signers) (string, error) {
		t.Helper()
		r.git("update-ref", "refs/heads/main", id)
		fetch(t, m, git.Remote{URL: r.url(), Ref: "main"})
		return m.Verify(t.Context(), id, s)
	}
	if who, err := check(byAnn, git.Signers{AllowedSigners: ann}); err != nil || who != "ann@example.com" {
		t.Errorf("got %q, %v", who, err)
	}
	if who, err := check(byBob, git.Signers{AllowedSigners: ann + "\n" + bob}); err != nil || who != "bob@example.com" {
		t.Errorf("got %q, %v", who, err)
	}
	for name, tt := range map[string]struct {
		id string
		s  git.Signers
	}{
		"unsigned":   {plain, git.Signers{AllowedSigners: ann}},
		"a stranger": {byBob, git.Signers{AllowedSigners: ann}},
		"forged":     {forged, git.Signers{AllowedSigners: ann}},
		"no ssh key": {byAnn, git.Signers{OpenPGP: pgpKey(t, t.TempDir())}},
		"expired":    {byAnn, git.Signers{AllowedSigners: strings.Replace(ann, " ", ` valid-before="20200101" `, 1)}},
		"other use":  {byAnn, git.Signers{AllowedSigners: strings.Replace(ann, " ", ` namespaces="file" `, 1)}},
	} {
		who, err := check(tt.id, tt.s)
		if err == nil {
			t.Errorf("%s: verified as %q", name, who)
			continue
		}
		wantReason(t, err, git.Unverified, tt.id)
	}
}

// pgpKey makes a key in a home of its own and returns the public half.
func pgpKey(t *testing.T, home string) string {
	t.Helper()
	need(t, "gpg")
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"GNUPGHOME=" + home}
	output(t, env, "gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "Ann <ann@example.com>", "ed25519", "sign", "never")
	t.Cleanup(func() { _ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() })
	return output(t, env, "gpg", "--armor", "--export")
}

func TestVerifyOpenPGP(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	ann, stranger := pgpKey(t, home), pgpKey(t, other)
	r := newRepository(t)
	r.commit(map[string]string{"a": "1"})
	t.Setenv("GNUPGHOME", home)
	r.git("-c", "gpg.format=openpgp", "-c", "user.signingKey=ann@example.com", "commit", "--quiet", "--allow-empty", "-S", "-m", "signed")
	m := openMirror(t, git.Options{AllowFile: true})
	c := fetch(t, m, git.Remote{URL: r.url()})
	if who, err := m.Verify(t.Context(), c.ID, git.Signers{OpenPGP: ann}); err != nil || !strings.Contains(who, "ann@example.com") {
		t.Errorf("got %q, %v", who, err)
	}
	_, err := m.Verify(t.Context(), c.ID, git.Signers{OpenPGP: stranger})
	wantReason(t, err, git.Unverified, c.ID)
	_, err = m.Verify(t.Context(), c.ID, git.Signers{AllowedSigners: "x ssh-ed25519 AAAA"})
	wantReason(t, err, git.Unverified, c.ID)
	_, err = m.Verify(t.Context(), c.ID, git.Signers{OpenPGP: "no keys"})
	wantReason(t, err, git.Unverified, "import")
}
