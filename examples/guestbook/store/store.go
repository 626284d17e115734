package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"slices"
	"sync"
	"time"
)

// Bounds, so that no client can fill the memory.
const (
	maxKeys    = 100
	maxItems   = 1000 // the oldest goes first
	maxLine    = 8 << 10
	maxClients = 200
	idle       = time.Minute
)

type request struct {
	Op, Key, Value string
}

type reply struct {
	Items []string `json:"items,omitempty"`
	Error string   `json:"error,omitempty"`
}

// lists is the data.
type lists struct {
	mu    sync.Mutex
	items map[string][]string
}

func newLists() *lists { return &lists{items: map[string][]string{}} }

func (l *lists) do(r request) reply {
	l.mu.Lock()
	defer l.mu.Unlock()
	items, exists := l.items[r.Key]
	switch {
	case r.Op == "list":
		return reply{Items: slices.Clone(items)}
	case r.Op != "push":
		return reply{Error: fmt.Sprintf("unknown op %q", r.Op)}
	case !exists && len(l.items) == maxKeys:
		return reply{Error: "too many keys"}
	}
	items = append(items, r.Value)
	l.items[r.Key] = items[max(0, len(items)-maxItems):]
	return reply{}
}

// serve answers clients until ctx ends, and returns when the last is gone.
func serve(ctx context.Context, l net.Listener, data *lists) {
	var clients sync.WaitGroup
	defer clients.Wait()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	slots := make(chan struct{}, maxClients)
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			log.Printf("accept: %v", err)
			time.Sleep(50 * time.Millisecond)
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			log.Printf("%s: turned away, too many clients", conn.RemoteAddr())
			conn.Close()
			continue
		}
		clients.Go(func() {
			defer func() { <-slots }()
			talk(ctx, conn, data)
		})
	}
}

func talk(ctx context.Context, conn net.Conn, data *lists) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	in := bufio.NewScanner(conn)
	in.Buffer(make([]byte, 0, 1024), maxLine)
	out := json.NewEncoder(conn)
	for {
		if err := conn.SetDeadline(time.Now().Add(idle)); err != nil || !in.Scan() {
			return
		}
		var req request
		answer := reply{Error: "not a request"}
		if err := json.Unmarshal(in.Bytes(), &req); err == nil {
			answer = data.do(req)
		}
		log.Printf("%s %s %q: %d items %s", conn.RemoteAddr(), req.Op, req.Key, len(answer.Items), answer.Error)
		if err := out.Encode(answer); err != nil {
			return
		}
	}
}
