package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/writ-dev/writ/cluster/consensus"
	"github.com/writ-dev/writ/cluster/seal"
)

// keysEvery is how often the key file is looked at.
const keysEvery = 15 * time.Second

// keyFile returns the path of the keys that seal the data.
func (s *Server) keyFile() string {
	if s.o.EncryptionKeyFile != "" {
		return s.o.EncryptionKeyFile
	}
	return filepath.Join(s.o.Data, "encryption.key")
}

// openKeys reads the key file. The default one is made if absent, but not when
// there is data that was sealed with it.
func (s *Server) openKeys() (*seal.Ring, error) {
	path := s.keyFile()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return seal.OpenFile(path)
	}
	if id, ok := consensus.SealedWith(s.raftDir()); ok {
		return nil, fmt.Errorf("the key file %s is gone, and the data in %s is sealed with its key %s; restore the file", path, s.o.Data, id)
	}
	if s.o.EncryptionKeyFile != "" {
		return nil, fmt.Errorf("there is no key file %s; make one with: writ key new %s", path, path)
	}
	if err := os.MkdirAll(s.o.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	return seal.OpenOrCreateFile(path)
}

// keepSealed seals all data with the first key of the key file: now if it is
// not, and whenever the file says otherwise. What fails is tried again.
func (s *Server) keepSealed(ctx context.Context, node *consensus.Node, keys *seal.Ring) error {
	ticker := time.NewTicker(keysEvery)
	defer ticker.Stop()
	stale := !node.Sealed()
	for {
		if stale {
			if err := node.Reseal(ctx); err != nil {
				if ctx.Err() == nil {
					s.o.Logger.Error("seal data with the first key", "error", err)
				}
			} else {
				stale = false
				s.o.Logger.Warn("all data is sealed with the first key of the key file; older ones may be removed with: writ key prune "+s.keyFile(), "key", keys.Primary().String())
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		changed, err := keys.Reload(s.keyFile())
		if err != nil {
			s.o.Logger.Error("read the key file again; the keys stay as they were", "error", err)
		}
		stale = stale || changed
	}
}

func (s *Server) raftDir() string { return filepath.Join(s.o.Data, "raft") }
