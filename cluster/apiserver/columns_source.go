package apiserver

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

var sourceColumns = []column{colName, text("Ready"), text("Revision"), text("Suspended"), colAge, text("Status"), wideText("Repo"), wideText("Ref"), wideText("Path"), wideText("Release")}

func sourceCells(v *api.Source, o object.Object, now time.Time) []any {
	ready, status := "Unknown", ""
	if c := meta.FindStatusCondition(v.Status.Conditions, api.SourceReady); c != nil {
		ready, status = string(c.Status), c.Message
	}
	suspended := "False"
	if v.Spec.Suspend {
		suspended = "True"
	}
	return []any{v.Name, ready, orNone(shortRevision(v.Status.AppliedRevision)), suspended, age(o, now), firstLine(status, 120), v.Spec.Repo, v.Spec.Ref, v.Spec.Path, v.Status.Release}
}

// shortRevision cuts the commit of "main@sha1:0123…" short.
func shortRevision(revision string) string {
	if i := strings.LastIndexByte(revision, ':'); i >= 0 && len(revision) > i+13 {
		return revision[:i+13]
	}
	return revision
}

// firstLine is the first line of a message, cut at a number of bytes.
func firstLine(message string, most int) string {
	line, _, more := strings.Cut(message, "\n")
	if len(line) > most {
		line, more = strings.ToValidUTF8(line[:most], ""), true
	}
	if more {
		line += "..."
	}
	return line
}
