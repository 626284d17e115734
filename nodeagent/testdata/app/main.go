// Command app is the program inside the pods of the node agent's tests.
//
//	app serve          HTTP on :8080 (see below), and a UDP echo on :8080
//	app stubborn       serve, but ignore SIGTERM
//	app say TEXT CODE  print TEXT and exit with CODE
//	app echo           copy its input to its output, and END to its errors
//	app terminal W     wait until the terminal is W wide, then say its size
//	app install NAME   copy itself to /bin/NAME; as tar it does what kubectl cp needs
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if filepath.Base(os.Args[0]) == "tar" {
		archive()
		return
	}
	switch os.Args[1] {
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
		fmt.Fprint(os.Stderr, "END")
		return
	case "terminal":
		terminal(os.Args[2])
		return
	case "processes":
		processes()
		return
	case "install":
		install("/bin/" + os.Args[2])
		return
	}
	fmt.Println("args", strings.Join(os.Args[1:], " "))
	switch os.Args[1] {
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fallthrough
	case "serve":
		serve()
	case "say":
		fmt.Println(os.Args[2])
		code, _ := strconv.Atoi(os.Args[3])
		os.Exit(code)
	case "try":
		// The first thing this process does is to use the network.
		fmt.Println("result", try("tcp", os.Args[2]))
		serve()
	}
}

func serve() {
	u, err := net.ListenPacket("udp4", ":8080")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = u.WriteTo(b[:n], from)
		}
	}()
	http.HandleFunc("/name", func(w http.ResponseWriter, _ *http.Request) {
		name, _ := os.Hostname()
		fmt.Fprint(w, name)
	})
	http.HandleFunc("/try", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, try(r.FormValue("network"), r.FormValue("address")))
	})
	http.HandleFunc("/lookup", func(w http.ResponseWriter, r *http.Request) {
		ips, err := net.DefaultResolver.LookupHost(r.Context(), r.FormValue("name"))
		fmt.Fprint(w, ips, err)
	})
	http.HandleFunc("/env", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, os.Getenv(r.FormValue("name"))) })
	http.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		b, err := os.ReadFile(r.FormValue("path"))
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(b)
	})
	http.HandleFunc("/print", func(_ http.ResponseWriter, r *http.Request) { fmt.Println(r.FormValue("text")) })
	http.HandleFunc("/touch", func(w http.ResponseWriter, r *http.Request) {
		if err := os.WriteFile(r.FormValue("path"), nil, 0o644); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	})
	http.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	http.HandleFunc("/sick", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat("/tmp/sick"); err == nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	fmt.Println("serving")
	fmt.Println(http.ListenAndServe("0.0.0.0:8080", nil))
	os.Exit(1)
}

// try reports "ok NAME" or the error; over UDP "ok" if there is an echo.
func try(network, address string) string {
	if network == "udp" {
		c, err := net.DialTimeout("udp", address, time.Second)
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Second))
		if _, err := c.Write([]byte("hello")); err != nil {
			return err.Error()
		}
		if _, err := c.Read(make([]byte, 16)); err != nil {
			return err.Error()
		}
		return "ok"
	}
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + address + "/name")
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return "ok " + string(b)
}
