package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// outputFlag adds -o to a verb; empty means for people.
func (a *app) outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "", "output format: json or yaml (default for people)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	pre := cmd.PreRunE
	cmd.PreRunE = func(c *cobra.Command, args []string) error {
		switch *output {
		case "", "json", "yaml":
		default:
			return usageError{fmt.Errorf("unknown output format %q: use json or yaml", *output)}
		}
		if pre != nil {
			return pre(c, args)
		}
		return nil
	}
}

// encode prints v in the format asked for.
func (a *app) encode(format string, v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // it is not for a web page
	if err := enc.Encode(v); err != nil {
		return err
	}
	b := text.Bytes()
	if format == "yaml" {
		var err error
		if b, err = yaml.JSONToYAML(b); err != nil {
			return err
		}
	}
	_, err := a.out.Write(b)
	return err
}

// The SGR codes used, and only these.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// paint wraps s when the stream it goes to shows colours.
func paint(on bool, code, s string) string {
	if !on {
		return s
	}
	return code + s + reset
}

// step says that a stage of the work is done.
func (a *app) step(name, format string, args ...any) {
	fmt.Fprintf(a.err, "%s %s\n", paint(a.errColor, bold, fmt.Sprintf("%-9s", name)), fmt.Sprintf(format, args...))
}

// short is a digest for people.
func short(digest string) string {
	if len(digest) > 19 {
		return digest[:19]
	}
	return digest
}
