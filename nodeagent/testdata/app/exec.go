package main

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// terminal waits for the size to come, which it does a little later.
func terminal(width string) {
	var size struct{ rows, columns, x, y uint16 }
	for range 500 {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
			check(errno)
		}
		if fmt.Sprint(size.columns) == width {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Printf("%d by %d\n", size.columns, size.rows)
}

// processes prints the command lines of all that run here.
func processes() {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(err)
	for _, f := range files {
		b, _ := os.ReadFile(f)
		fmt.Printf("%q\n", b)
	}
}

func install(path string) {
	b, err := os.ReadFile("/proc/self/exe")
	check(err)
	check(os.WriteFile(path, b, 0o755))
}

// archive is tar cf - FILE, and tar -xmf - [-C DIR].
func archive() {
	if os.Args[1] == "cf" {
		name := os.Args[len(os.Args)-1]
		b, err := os.ReadFile(name)
		check(err)
		w := tar.NewWriter(os.Stdout)
		check(w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o644, Size: int64(len(b)), Typeflag: tar.TypeReg}))
		_, err = w.Write(b)
		check(err)
		check(w.Close())
		return
	}
	dir := "/"
	for i, a := range os.Args {
		if a == "-C" {
			dir = os.Args[i+1]
		}
	}
	r := tar.NewReader(os.Stdin)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		check(err)
		b, err := io.ReadAll(r)
		check(err)
		check(os.WriteFile(filepath.Join(dir, h.Name), b, 0o644))
	}
}
