package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// Format names the form of a plan's file.
const Format = "writ.dev/plan/v1"

// file is a plan as it is kept. The checksum is over the bytes of Plan: it
// finds what was cut off or edited. That a plan does what it says is found out
// when it is applied.
type file struct {
	Format   string          `json:"format"`
	Checksum string          `json:"checksum"`
	Plan     json.RawMessage `json:"plan"`
}

// Encode writes p in the form that Decode reads, and returns its checksum: who
// has reviewed the plan can tell by it that this one is meant. Values of
// Secrets are left out.
func (p *Plan) Encode() (text []byte, checksum string, err error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, "", fmt.Errorf("write plan: %w", err)
	}
	checksum = sum(body)
	text, err = json.Marshal(file{Format: Format, Checksum: checksum, Plan: body})
	if err != nil {
		return nil, "", fmt.Errorf("write plan: %w", err)
	}
	return append(text, '\n'), checksum, nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(h[:])
}

// Decode reads a plan that Encode wrote, and its checksum. Errors are a
// diag.List without positions: they tell what is wrong with the file.
func Decode(text []byte) (p *Plan, checksum string, err error) {
	bad := func(message, hint string) (*Plan, string, error) {
		return nil, "", diag.List{{Code: "PLAN", Message: message, Hint: hint}}
	}
	const make = "make one with 'writ plan DIR --out FILE'"
	var f file
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(text, &f); {
	case len(bytes.TrimSpace(text)) == 0:
		return bad("the plan is empty", make)
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(text)):
		return bad(fmt.Sprintf("the plan is cut off after %d bytes", len(text)), "copy it again, or "+make)
	case err != nil:
		return bad(fmt.Sprintf("not a plan: %v", err), make)
	case f.Format == "":
		return bad("not a plan: it has no format", make)
	case f.Format != Format:
		return bad(fmt.Sprintf("the plan has format %q, and this version of Writ reads %q", f.Format, Format), "plan again with this version")
	case f.Checksum != sum(f.Plan):
		return bad("the plan was changed after it was made: its checksum is "+sum(f.Plan)+", not "+f.Checksum, "plan again; a plan cannot be edited")
	}
	d := json.NewDecoder(bytes.NewReader(f.Plan))
	d.UseNumber()
	d.DisallowUnknownFields()
	p = &Plan{fromFile: true}
	if err := d.Decode(p); err != nil {
		return bad("not a plan of this version: "+strings.TrimPrefix(err.Error(), "json: "), "plan again with this version")
	}
	if _, err := d.Token(); err != io.EOF || p.Release == "" || p.Digest == "" || p.Namespace == "" {
		return bad("not a plan: it names no release", make)
	}
	return p, f.Checksum, nil
}

// IsPlan reports whether text looks like a plan's file, whole or not.
func IsPlan(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte(`{"format":"writ.dev/plan/`))
}
