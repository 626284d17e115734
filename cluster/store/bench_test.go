package store_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/store"
)

// document2K is a document of about 2 KiB, the size of an ordinary pod.
func document2K(k object.Key) []byte { return document(k, strings.Repeat("0123456789abcdef", 120)) }

func nth(i int) object.Key {
	return object.Key{Kind: "Pod", Namespace: fmt.Sprintf("ns%02d", i%20), Name: fmt.Sprintf("pod-%06d", i)}
}

// filled returns a store with n objects of 2 KiB.
func filled(b testing.TB, n int, o store.Options) *store.Store {
	s := store.New(o)
	for i := range n {
		apply(b, s, store.Mutation{Key: nth(i), Object: document2K(nth(i))})
	}
	return s
}

func BenchmarkApply(b *testing.B) {
	s := filled(b, 10000, store.Options{})
	docs := make([][]byte, 10000)
	for i := range docs {
		docs[i] = document2K(nth(i))
	}
	for i := 0; b.Loop(); i++ {
		apply(b, s, store.Mutation{Key: nth(i % 10000), Object: docs[i%10000]})
	}
}

func BenchmarkView(b *testing.B) {
	s := filled(b, 10000, store.Options{})
	for b.Loop() {
		s.View()
	}
}

func BenchmarkGet(b *testing.B) {
	v := filled(b, 10000, store.Options{}).View()
	for i := 0; b.Loop(); i++ {
		if _, ok := v.Get(nth(i % 10000)); !ok {
			b.Fatal("lost")
		}
	}
}

func BenchmarkList10k(b *testing.B) {
	v := filled(b, 10000, store.Options{}).View()
	for b.Loop() {
		n := 0
		for range v.List("", "Pod", "") {
			n++
		}
		if n != 10000 {
			b.Fatal(n)
		}
	}
}

// BenchmarkFanout is one transaction seen by 100 watchers: of its kind, and of
// another kind, which get bookmarks.
func BenchmarkFanout(b *testing.B) {
	for _, kind := range []string{"Pod", "Node"} {
		b.Run("100x"+kind, func(b *testing.B) {
			s := store.New(store.Options{})
			ends := make([]chan uint64, 100)
			for i := range ends {
				events := mustWatch(b, s, 0, store.Selector{Kind: kind})
				ends[i] = make(chan uint64)
				go func() {
					// The revision to wait for is known only at the end.
					last, target := uint64(0), uint64(0)
					for {
						select {
						case e := <-events:
							last = e.Revision
						case target = <-ends[i]:
						}
						if target > 0 && last >= target {
							close(ends[i])
							return
						}
					}
				}()
			}
			doc := document2K(nth(1))
			var last uint64
			for b.Loop() {
				last = apply(b, s, store.Mutation{Key: nth(1), Object: doc})
			}
			for _, end := range ends {
				end <- last
				<-end
			}
		})
	}
}

// BenchmarkNotice is the time from a transaction to its event and to the
// bookmark of a watch of another kind, when the store is quiet.
func BenchmarkNotice(b *testing.B) {
	for _, kind := range []string{"Pod", "Node"} {
		b.Run(kind, func(b *testing.B) {
			s := store.New(store.Options{BookmarkInterval: time.Nanosecond})
			events := mustWatch(b, s, 0, store.Selector{Kind: kind})
			next(b, events)
			doc := document2K(nth(1))
			for b.Loop() {
				r := apply(b, s, store.Mutation{Key: nth(1), Object: doc})
				for next(b, events).Revision < r {
				}
			}
		})
	}
}

func BenchmarkSave10k(b *testing.B) {
	v := filled(b, 10000, store.Options{}).View()
	for b.Loop() {
		if err := v.Save(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRestore10k(b *testing.B) {
	var buf bytes.Buffer
	if err := filled(b, 10000, store.Options{}).View().Save(&buf); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(buf.Len()))
	for b.Loop() {
		if err := store.New(store.Options{}).Restore(bytes.NewReader(buf.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemory10k reports the heap for each object, with a short history.
func BenchmarkMemory10k(b *testing.B) {
	var s *store.Store
	var before, after runtime.MemStats
	var once sync.Once
	for b.Loop() {
		once.Do(func() {
			runtime.GC()
			runtime.ReadMemStats(&before)
			s = filled(b, 10000, store.Options{HistoryEvents: 1})
			runtime.GC()
			runtime.ReadMemStats(&after)
		})
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(s.View().Len()), "heap-B/object")
	b.ReportMetric(0, "ns/op")
}
