// Command store is the guestbook's data store: lists of strings in memory, over
// TCP. A request is one line of JSON, {"op":"push","key":"k","value":"v"} or
// {"op":"list","key":"k"}, and so is its reply, {"items":[…]} or {"error":"…"}.
//
// LISTEN is the address to listen on (default :6379). Nothing survives a
// restart.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	log.SetFlags(log.LUTC | log.Ldate | log.Ltime)
	log.SetOutput(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	addr := os.Getenv("LISTEN")
	if addr == "" {
		addr = ":6379"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on %s", l.Addr())
	serve(ctx, l, newLists())
	log.Print("stopped")
}
