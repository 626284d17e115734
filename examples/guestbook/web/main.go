// Command web is the guestbook's page. It keeps nothing: what it shows and what
// visitors write goes through the API.
//
// LISTEN is the address to listen on (default :8080), API the API's URL
// (default http://api:8080).
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(log.LUTC | log.Ldate | log.Ltime)
	log.SetOutput(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	pod, err := os.Hostname()
	if err != nil {
		pod = "unknown"
	}
	s, err := newSite(strings.TrimSuffix(env("API", "http://api:8080"), "/"), pod)
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(ctx, env("LISTEN", ":8080"), s.handler()); err != nil {
		log.Fatal(err)
	}
	log.Print("stopped")
}

func env(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// serve answers requests until ctx ends, and lets those under way finish.
func serve(ctx context.Context, addr string, handler http.Handler) error {
	server := &http.Server{Addr: addr, Handler: handler,
		ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	finished := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		finished <- server.Shutdown(grace)
	})
	defer stop()
	log.Printf("listening on %s", addr)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-finished
}
