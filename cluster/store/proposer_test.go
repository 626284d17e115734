package store_test

import (
	"testing"

	"github.com/writ-dev/writ/cluster/store"
	"github.com/writ-dev/writ/cluster/store/proposertest"
)

func TestLocal(t *testing.T) {
	proposertest.Run(t, func(*testing.T) (store.Proposer, *store.Store) {
		s := store.New(store.Options{})
		return store.Local(s), s
	})
}
