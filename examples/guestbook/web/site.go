package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log"
	"net/http"
	"time"
)

//go:embed page.html style.css
var files embed.FS

const (
	apiTimeout = 3 * time.Second
	maxReply   = 1 << 20
	maxForm    = 8 << 10
)

// page is what the template shows.
type page struct {
	Pod, APIPod string
	Messages    []message
	// Error is shown in place of the messages, Notice above the form.
	Error, Notice string
	// From and Text are what the visitor had written when it was refused.
	From, Text string
}

type message struct {
	From, Text string
	At         time.Time
}

type site struct {
	api, pod string
	client   *http.Client
	page     *template.Template
}

func newSite(api, pod string) (*site, error) {
	t, err := template.New("page.html").Funcs(template.FuncMap{
		"when":    func(t time.Time) string { return t.UTC().Format("2 January, 15:04 UTC") },
		"initial": initial,
	}).ParseFS(files, "page.html")
	if err != nil {
		return nil, err
	}
	return &site{api: api, pod: pod, page: t, client: &http.Client{Timeout: apiTimeout}}, nil
}

// initial is the letter that stands for a visitor.
func initial(name string) string {
	for _, r := range name {
		return string(r)
	}
	return "?"
}

func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.show(w, r, http.StatusOK, page{}) })
	mux.HandleFunc("POST /{$}", s.post)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=300")
		http.ServeFileFS(w, r, files, "style.css")
	})
	return logged(http.NewCrossOriginProtection().Handler(mux))
}

func (s *site) show(w http.ResponseWriter, r *http.Request, code int, p page) {
	p.Pod = s.pod
	var list struct {
		Pod      string
		Messages []message
	}
	if err := s.call(r.Context(), http.MethodGet, nil, &list); err != nil {
		p.Error = err.Error()
		log.Printf("api: %v", err)
	}
	p.APIPod, p.Messages = list.Pod, list.Messages
	var out bytes.Buffer
	if err := s.page.Execute(&out, p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	w.WriteHeader(code)
	if _, err := w.Write(out.Bytes()); err != nil {
		log.Printf("answer: %v", err)
	}
}

func (s *site) post(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.show(w, r, http.StatusBadRequest, page{Notice: "This is more than the guestbook can take."})
		return
	}
	m := map[string]string{"from": r.PostForm.Get("from"), "text": r.PostForm.Get("text")}
	if err := s.call(r.Context(), http.MethodPost, m, nil); err != nil {
		s.show(w, r, http.StatusBadGateway, page{Notice: "Not written: " + err.Error(), From: m["from"], Text: m["text"]})
		return
	}
	// So that a reload does not write it once more.
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// call sends in to the API's messages and reads the reply into out.
func (s *site) call(ctx context.Context, method string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.api+"/messages", body)
	if err != nil {
		return err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("the API cannot be reached: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return fmt.Errorf("the API's answer broke off: %w", err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		var said struct{ Error string }
		if err := json.Unmarshal(data, &said); err != nil || said.Error == "" {
			said.Error = res.Status
		}
		return errors.New(said.Error)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("the API's answer is not understood: %w", err)
	}
	return nil
}

// logged writes one line for each request but those of a healthy probe.
func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		s := &statusWriter{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(s, r)
		if s.code != http.StatusOK || r.URL.Path != "/healthz" {
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
