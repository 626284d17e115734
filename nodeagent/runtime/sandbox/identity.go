//go:build linux

package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// identity is who a container runs as.
type identity struct {
	uid, gid int
	home     string
}

// resolveUser finds user[:group] in the container's own /etc/passwd and
// /etc/group. A number needs no entry there.
func resolveUser(s string) (identity, error) {
	user, group, _ := strings.Cut(s, ":")
	if user == "" {
		user = "0"
	}
	who := identity{home: "/"}
	uid, numErr := strconv.ParseUint(user, 10, 31)
	entry, err := lookupEntry("/etc/passwd", 7, func(f []string) bool {
		return f[0] == user || numErr == nil && f[2] == strconv.FormatUint(uid, 10)
	})
	if err != nil {
		return who, err
	}
	switch {
	case entry != nil:
		who.uid, _ = strconv.Atoi(entry[2])
		who.gid, _ = strconv.Atoi(entry[3])
		if entry[5] != "" {
			who.home = entry[5]
		}
	case numErr == nil:
		who.uid = int(uid)
	default:
		return who, fmt.Errorf("no user %q in the image's /etc/passwd", user)
	}
	if group == "" {
		return who, nil
	}
	gid, numErr := strconv.ParseUint(group, 10, 31)
	if numErr == nil {
		who.gid = int(gid)
		return who, nil
	}
	entry, err = lookupEntry("/etc/group", 3, func(f []string) bool { return f[0] == group })
	if err != nil {
		return who, err
	}
	if entry == nil {
		return who, fmt.Errorf("no group %q in the image's /etc/group", group)
	}
	who.gid, _ = strconv.Atoi(entry[2])
	return who, nil
}

// lookupEntry returns the fields of the first line that matches, nil if none
// does. Lines that are too short or carry no numbers are passed over.
func lookupEntry(file string, fields int, match func([]string) bool) ([]string, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 0; lines.Scan() && n < 100_000; n++ {
		entry := strings.Split(lines.Text(), ":")
		if len(entry) < fields {
			continue
		}
		if _, err := strconv.ParseUint(entry[2], 10, 31); err != nil {
			continue
		}
		if match(entry) {
			return entry, nil
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return nil, nil
}

// idMaps are the users and groups that exist in this user namespace.
type idMaps struct {
	users, groups []idRange
	// setGroups tells whether supplementary groups may be changed.
	setGroups bool
}

type idRange struct{ first, count uint64 }

func readIDMaps(dir string) (idMaps, error) {
	var m idMaps
	var err error
	if m.users, err = readIDMap(dir + "/uid_map"); err != nil {
		return m, err
	}
	if m.groups, err = readIDMap(dir + "/gid_map"); err != nil {
		return m, err
	}
	data, err := os.ReadFile(dir + "/setgroups")
	m.setGroups = err == nil && strings.TrimSpace(string(data)) == "allow"
	return m, nil
}

// readIDMap reads a map as user_namespaces(7) describes it.
func readIDMap(file string) ([]idRange, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read user namespace: %w", err)
	}
	var ranges []idRange
	for line := range strings.Lines(string(data)) {
		var first, outside, count uint64
		if _, err := fmt.Sscan(line, &first, &outside, &count); err != nil {
			return nil, fmt.Errorf("read user namespace: %s: %w", file, err)
		}
		ranges = append(ranges, idRange{first, count})
	}
	return ranges, nil
}

func mapped(ranges []idRange, id int) bool {
	for _, r := range ranges {
		if uint64(id) >= r.first && uint64(id)-r.first < r.count {
			return true
		}
	}
	return false
}

// check refuses who does not exist in the user namespace.
func (m idMaps) check(who identity) error {
	if mapped(m.users, who.uid) && mapped(m.groups, who.gid) {
		return nil
	}
	return unsupported(fmt.Sprintf("run as user %d, group %d: writ was started by an ordinary user, who has only user 0 to give to containers; leave runAsUser out (root there is that user, without privileges), or start writ as root", who.uid, who.gid))
}

// dropPrivileges becomes who, with no more capabilities than kept.
func dropPrivileges(who identity, setGroups bool) error {
	// Output may be opened again by name, as in /dev/stderr.
	for fd := 0; fd <= 2; fd++ {
		_ = unix.Fchown(fd, who.uid, -1)
	}
	if err := dropBounding(); err != nil {
		return err
	}
	// Keys of the parent's session are none of the container's business; not
	// every kernel has keys.
	_, _ = unix.KeyctlJoinSessionKeyring("")
	if setGroups {
		if err := rawCall("set groups", unix.SYS_SETGROUPS, 0, 0, 0); err != nil {
			return err
		}
	}
	// The raw calls change this thread alone, which is the one that goes on.
	gid, uid := uintptr(who.gid), uintptr(who.uid)
	if err := rawCall("set group", unix.SYS_SETRESGID, gid, gid, gid); err != nil {
		return err
	}
	if err := rawCall("set user", unix.SYS_SETRESUID, uid, uid, uid); err != nil {
		return err
	}
	if err := keepCapabilities(who.uid); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	return nil
}

func rawCall(what string, call, a, b, c uintptr) error {
	if _, _, errno := unix.RawSyscall(call, a, b, c); errno != 0 {
		return fmt.Errorf("%s: %w", what, errno)
	}
	return nil
}
