package yaml

import "testing"

// What the parser takes, the linter takes too, and says of it only what it has a
// place for.
func FuzzLint(f *testing.F) {
	f.Add([]byte("a: yes\nb: &x 0755\nc: *x\n--- \nd: |\n  \tq\n{e: 1,\n\tf: 2}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := Lint("a.yaml", data)
		if _, wrong := Parse("a.yaml", data); (wrong != nil) != (err != nil) {
			t.Fatalf("lint says %v, and parse %v", err, wrong)
		}
		for _, d := range found {
			if d.Code == "" || d.Pos.Line < 1 || d.Pos.Column < 1 {
				t.Fatalf("a finding without a place: %+v", d)
			}
		}
	})
}
