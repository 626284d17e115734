package object

import (
	"sync"
	"testing"
)

func TestKnownIsWhatParseMakes(t *testing.T) {
	const in = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"a":"b"},"name":"web","namespace":"shop","ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"X","name":"x","uid":"1"}]}}`
	parsed, err := Parse([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	known := Known(parsed.JSON(), parsed.APIVersion(), parsed.Key())
	if known.Key() != parsed.Key() || known.Group() != "apps" {
		t.Errorf("key %v, want %v", known.Key(), parsed.Key())
	}
	var wg sync.WaitGroup // its metadata is parsed once, whoever asks first
	for range 8 {
		wg.Go(func() {
			if known.Meta().Labels["a"] != "b" || known.Controller() == nil {
				t.Errorf("metadata %+v", known.Meta())
			}
		})
	}
	wg.Wait()
}
