package cli

import (
	"context"
	"errors"

	"github.com/writ-dev/writ/render/provenance"
	"github.com/writ-dev/writ/render/why"
)

// What --provenance writes.
const (
	provenanceFields = "fields"
	provenanceChains = "chains"
)

// writeProvenance writes beside the documents what is asked for. Without that,
// what an earlier run wrote is removed: it is not of these documents.
func writeProvenance(ctx context.Context, r rendered, dir, what string, src *sourceFlags) error {
	if what == "" {
		return provenance.Remove(dir)
	}
	record, err := provenance.New(r.Digest, r.of)
	if err != nil {
		return err
	}
	if what == provenanceChains {
		asker, stop, err := src.asker()
		if err != nil {
			return err
		}
		defer stop()
		if err := record.Explain(ctx, asker, r.of, 0); err != nil {
			return src.locate(err)
		}
	}
	return record.Write(dir)
}

// whyRecorded answers from a record beside rendered documents.
func (a *app) whyRecorded(ctx context.Context, record string, name why.Name, field, output string) error {
	store, err := provenance.Open(record)
	if err != nil {
		return err
	}
	defer store.Close()
	found, err := store.Find(ctx, name)
	if err != nil {
		return err
	}
	nowhere := &sourceFlags{} // positions are shown as they are recorded
	if field == "" {
		return a.listFields([]why.Found{found}, nowhere, output)
	}
	answer, err := store.Answer(why.Question{Found: found, Path: field})
	if err != nil {
		return err
	}
	return a.showWhy([]*why.Answer{answer}, nowhere, output)
}

// alone refuses flags about a source.
func (s *sourceFlags) alone() error {
	if len(s.inputs)+len(s.environments)+len(s.units) > 0 || s.entry != "" {
		return usageError{errors.New("--provenance tells of documents that are rendered; it goes without a source and what selects in it")}
	}
	return nil
}
