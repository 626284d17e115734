// Command intruder tries to use what it did not declare, every two seconds, and
// logs what comes of it. In a cluster that holds what it promises, it logs
// nothing but refusals.
//
// TARGETS is what it tries, host:port by name or address, separated by commas
// (default store:6379,api:8080). Addresses that Kubernetes-style variables
// name, such as STORE_SERVICE_HOST and STORE_SERVICE_PORT, are tried too.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const period = 2 * time.Second

func main() {
	log.SetFlags(log.LUTC | log.Ldate | log.Ltime)
	log.SetOutput(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	list := targets(os.Environ())
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		for _, target := range list {
			log.Print(try(ctx, target))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			log.Print("stopped")
			return
		}
	}
}
