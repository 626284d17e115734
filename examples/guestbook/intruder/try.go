package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// attemptTimeout bounds one attempt.
const attemptTimeout = 1500 * time.Millisecond

// targets reads from an environment what to try.
func targets(environ []string) []string {
	env := map[string]string{}
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok {
			env[name] = value
		}
	}
	list := strings.Split("store:6379,api:8080", ",")
	if given := env["TARGETS"]; given != "" {
		list = strings.Split(given, ",")
	}
	var found []string
	for name, host := range env {
		if service, ok := strings.CutSuffix(name, "_SERVICE_HOST"); ok && env[service+"_SERVICE_PORT"] != "" {
			found = append(found, net.JoinHostPort(host, env[service+"_SERVICE_PORT"]))
		}
	}
	slices.Sort(found)
	var all []string
	for _, target := range append(list, found...) {
		if target = strings.TrimSpace(target); target != "" && !slices.Contains(all, target) {
			all = append(all, target)
		}
	}
	return all
}

// try connects to a target and says what came of it. A connection that opens
// is used, because only an answer proves that somebody is there.
func try(ctx context.Context, target string) string {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", target)
	if err != nil {
		return "refused: " + err.Error()
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "refused: " + err.Error()
	}
	// Neither a store nor an HTTP server leaves this without an answer.
	if _, err := fmt.Fprintf(conn, "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", target); err != nil {
		return "refused: " + err.Error()
	}
	answer := make([]byte, 256)
	n, err := conn.Read(answer)
	if err != nil {
		return fmt.Sprintf("refused: %s took the connection but gave no answer: %v", target, err)
	}
	line, _, _ := strings.Cut(string(answer[:n]), "\n")
	return fmt.Sprintf("REACHED %s, which answered %q", target, strings.TrimSpace(line))
}
