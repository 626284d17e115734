package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(ctx, l, newLists())
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for _, test := range []struct{ send, want string }{
		{`{"op":"list","key":"a"}`, `{}`},
		{`{"op":"push","key":"a","value":"one"}`, `{}`},
		{`{"op":"push","key":"a","value":"two"}`, `{}`},
		{`{"op":"list","key":"a"}`, `{"items":["one","two"]}`},
		{`{"op":"list","key":"b"}`, `{}`},
		{`{"op":"drop"}`, `{"error":"unknown op \"drop\""}`},
		{`nonsense`, `{"error":"not a request"}`},
	} {
		if _, err := fmt.Fprintln(conn, test.send); err != nil {
			t.Fatal(err)
		}
		got, err := in.ReadString('\n')
		if err != nil || strings.TrimSpace(got) != test.want {
			t.Errorf("%s: got %q, %v; want %q", test.send, got, err, test.want)
		}
	}
	cancel()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("serve did not end")
	}
}

func TestListsAreBounded(t *testing.T) {
	l := newLists()
	for i := range maxItems + 10 {
		l.do(request{Op: "push", Key: "k", Value: fmt.Sprint(i)})
	}
	if got := l.do(request{Op: "list", Key: "k"}).Items; len(got) != maxItems || got[0] != "10" {
		t.Errorf("%d items, the first %q", len(got), got[0])
	}
	for i := range maxKeys {
		l.do(request{Op: "push", Key: fmt.Sprint("key", i)})
	}
	if got := l.do(request{Op: "push", Key: "one more"}); got.Error == "" {
		t.Error("there is no end to keys")
	}
}
