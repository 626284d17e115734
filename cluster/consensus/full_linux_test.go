package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/consensus"
	"github.com/writ-dev/writ/cluster/store"
	"github.com/writ-dev/writ/cluster/store/proposertest"
)

const fullVariable = "WRIT_TEST_FULL_DIR"

// TestFullDisk fills a real file system, a tmpfs in its own user and mount
// namespace, with the reserve switched off.
func TestFullDisk(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, self)
	child.Env = append(os.Environ(), fullVariable+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("fill a disk: %v", err)
	}
}

func fillDisk(dir string) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		return fmt.Errorf("mount tmpfs: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	o := consensus.Options{Dir: dir, Store: store.New(store.Options{}), MinFree: 1, SegmentSize: 256 << 10}
	n, err := consensus.Open(ctx, o)
	if err != nil {
		return err
	}
	acknowledged, padding := 0, strings.Repeat("x", 10_000)
	for err == nil {
		_, err = n.Propose(ctx, put("o"+strconv.Itoa(acknowledged), padding))
		if err == nil {
			acknowledged++
		}
	}
	fmt.Printf("after %d objects: %v\n", acknowledged, err)
	switch {
	case acknowledged < 50 || acknowledged > 400:
		return fmt.Errorf("%d writes fitted into 4 MiB", acknowledged)
	case errors.Is(err, store.ErrNoSpace) && n.Err() == nil:
		// The last one that fitted took the very last byte: the next was refused
		// before it was written.
	case !errors.Is(err, store.ErrOutcomeUnknown) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "KiB free"):
		return errors.New("the error does not say what is the matter where")
	case n.Err() == nil:
		return errors.New("the node goes on")
	}
	if err := n.Close(); err != nil {
		return err
	}
	// Room is made; all that was acknowledged is there.
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
		return fmt.Errorf("enlarge tmpfs: %w", err)
	}
	o.Store = store.New(store.Options{})
	if n, err = consensus.Open(ctx, o); err != nil {
		return err
	}
	for i := range acknowledged {
		if _, ok := o.Store.View().Get(proposertest.Key("o" + strconv.Itoa(i))); !ok {
			return fmt.Errorf("object %d of %d is lost", i, acknowledged)
		}
	}
	if _, err := n.Propose(ctx, put("more", "")); err != nil {
		return err
	}
	return n.Close()
}
