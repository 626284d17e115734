package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// storeTimeout bounds one question to the store.
	storeTimeout = 2 * time.Second
	maxReply     = 16 << 20
	maxBody      = 4 << 10
	maxFrom      = 40  // characters
	maxText      = 500 // characters
	shown        = 50  // messages
)

// message is one entry of the guestbook.
type message struct {
	From string    `json:"from"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

type api struct {
	store, pod string
	now        func() time.Time
}

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /messages", a.list)
	mux.HandleFunc("POST /messages", a.add)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if _, err := a.ask(r.Context(), map[string]string{"op": "list", "key": "health"}); err != nil {
			fail(w, http.StatusServiceUnavailable, err)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return logged(mux)
}

func (a *api) list(w http.ResponseWriter, r *http.Request) {
	items, err := a.ask(r.Context(), map[string]string{"op": "list", "key": "messages"})
	if err != nil {
		fail(w, http.StatusBadGateway, err)
		return
	}
	messages := []message{}
	for _, item := range slices.Backward(items) {
		var m message
		if err := json.Unmarshal([]byte(item), &m); err == nil && len(messages) < shown {
			messages = append(messages, m)
		}
	}
	answer(w, http.StatusOK, map[string]any{"pod": a.pod, "messages": messages})
}

func (a *api) add(w http.ResponseWriter, r *http.Request) {
	var m message
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&m); err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("not a message: %w", err))
		return
	}
	m.From, m.Text, m.At = strings.TrimSpace(m.From), strings.TrimSpace(m.Text), a.now().UTC()
	if m.From == "" {
		m.From = "somebody"
	}
	if m.Text == "" || utf8.RuneCountInString(m.Text) > maxText || utf8.RuneCountInString(m.From) > maxFrom {
		fail(w, http.StatusBadRequest, fmt.Errorf("a message has 1 to %d characters, a name at most %d", maxText, maxFrom))
		return
	}
	value, err := json.Marshal(m)
	if err == nil {
		_, err = a.ask(r.Context(), map[string]string{"op": "push", "key": "messages", "value": string(value)})
	}
	if err != nil {
		fail(w, http.StatusBadGateway, err)
		return
	}
	answer(w, http.StatusCreated, m)
}

// ask puts one question to the store, over a connection of its own: so what
// the page shows is what the network allows at this moment.
func (a *api) ask(ctx context.Context, question map[string]string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", a.store)
	if err != nil {
		return nil, fmt.Errorf("reach the store: %w", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, fmt.Errorf("ask the store: %w", err)
	}
	if err := json.NewEncoder(conn).Encode(question); err != nil {
		return nil, fmt.Errorf("ask the store: %w", err)
	}
	var reply struct {
		Items []string
		Error string
	}
	if err := json.NewDecoder(bufio.NewReader(io.LimitReader(conn, maxReply))).Decode(&reply); err != nil {
		return nil, fmt.Errorf("ask the store: %w", err)
	}
	if reply.Error != "" {
		return nil, errors.New("the store says: " + reply.Error)
	}
	return reply.Items, nil
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		log.Printf("answer: %v", err)
	}
}

func fail(w http.ResponseWriter, code int, err error) {
	answer(w, code, map[string]string{"error": err.Error()})
}

// logged writes one line for each request but those of a healthy probe.
func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		s := &statusWriter{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(s, r)
		if s.code != http.StatusOK || !strings.HasSuffix(r.URL.Path, "z") {
			log.Printf("%s %s %s %d %s", r.RemoteAddr, r.Method, r.URL.Path, s.code, time.Since(begin).Round(time.Microsecond))
		}
	})
}

type statusWriter struct {
	http.ResponseWriter
	code int
}

func (s *statusWriter) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}
