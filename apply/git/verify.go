package git

import (
	"context"
	"os"
	"os/exec"
	"strings"
)

// Signers are whose signature counts.
type Signers struct {
	// AllowedSigners are the lines of an allowed signers file, see
	// ssh-keygen(1); OpenPGP is armored public keys.
	AllowedSigners, OpenPGP string
}

// IsZero reports whether no signature is asked for.
func (s Signers) IsZero() bool { return s == Signers{} }

// Verify returns who signed a commit that was fetched. No signature, a bad one,
// one by an expired or revoked key and one by somebody else are errors.
func (m *Mirror) Verify(ctx context.Context, commit string, s Signers) (signer string, err error) {
	w, err := m.workshop("", Credentials{})
	if err != nil {
		return "", err
	}
	defer w.close()
	// Signatures that none of the given keys can be of have no program to look
	// at them.
	settings := []setting{{`gpg "x509"`, "program", "false"}, {"gpg", "minTrustLevel", "undefined"}}
	if s.AllowedSigners != "" {
		if err := w.write("allowed_signers", []byte(s.AllowedSigners+"\n")); err != nil {
			return "", err
		}
		settings = append(settings, setting{`gpg "ssh"`, "allowedSignersFile", w.path("allowed_signers")})
	}
	if s.OpenPGP == "" {
		settings = append(settings, setting{`gpg "openpgp"`, "program", "false"})
	} else if err := w.importKeys(ctx, s.OpenPGP); err != nil {
		return "", err
	}
	config, err := os.ReadFile(w.path("config"))
	if err != nil {
		return "", fail(Failed, "configure git: %w", err)
	}
	if err := w.write("config", append(config, configText(settings)...)); err != nil {
		return "", err
	}
	body, err := w.run(ctx, "cat-file", "commit", commit)
	if err != nil {
		return "", err
	}
	head, _, _ := strings.Cut(string(body), "\n\n")
	if !strings.Contains(head, "\ngpgsig") {
		return "", fail(Unverified, "commit %s is not signed", commit)
	}
	if _, err := w.run(ctx, "verify-commit", "--end-of-options", commit); err != nil {
		return "", unverified(commit, err)
	}
	out, err := w.run(ctx, "log", "-1", "--no-show-signature", "--format=%G?%n%GS%n%GF", "--end-of-options", commit)
	if err != nil {
		return "", unverified(commit, err)
	}
	lines := strings.SplitN(strings.TrimSpace(string(out)), "\n", 3)
	// For OpenPGP, a good signature by a key of no stated trust is U: it is one
	// of the given keys. With ssh, U is a good signature by a stranger.
	pgp := strings.Contains(head, "-----BEGIN PGP SIGNATURE-----")
	if lines[0] != "G" && !(lines[0] == "U" && pgp) || len(lines) < 2 || lines[1] == "" {
		return "", fail(Unverified, "commit %s is not signed by one of the given keys (git says %q)", commit, lines[0])
	}
	return printable(lines[1]), nil
}

func unverified(commit string, err error) error {
	if ReasonOf(err) != Failed {
		return err
	}
	return fail(Unverified, "commit %s is not signed by one of the given keys: %w", commit, err)
}

// importKeys makes a key ring of only the given keys, for the time of w.
func (w *workshop) importKeys(ctx context.Context, armored string) error {
	ring := w.path("gnupg")
	if err := os.Mkdir(ring, 0o700); err != nil {
		return fail(Failed, "make a key ring: %w", err)
	}
	w.env = append(w.env, "GNUPGHOME="+ring)
	ctx, cancel := context.WithTimeout(ctx, w.m.o.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "gpg", "--batch", "--quiet", "--no-autostart", "--import")
	cmd.Dir, cmd.Env, cmd.WaitDelay = w.dir, w.env, killTime
	ownGroup(cmd)
	errs := &tail{}
	cmd.Stdin, cmd.Stderr = strings.NewReader(armored), errs
	if err := cmd.Run(); err != nil {
		return fail(Unverified, "import the OpenPGP keys: %s", w.said(errs.String(), err))
	}
	return nil
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
}
