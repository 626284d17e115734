package store_test

import (
	"math/rand/v2"
	"testing"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/store"
)

// TestMark: equal marks mean equal objects whatever was done between, and what
// is done to other groups does not change a mark once a group has objects.
func TestMark(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s, m := store.New(store.Options{}), newModel(r)
	type seen struct {
		mark store.Mark
		text string
	}
	past := map[string][]seen{}
	for index := uint64(1); index < 600; index++ {
		c, _ := m.command()
		if _, err := s.Apply(index, c); err != nil {
			t.Fatal(err)
		}
		v := s.View()
		for _, k := range kinds {
			text := ""
			for o := range v.List(k.group, k.kind, "") {
				text += string(o.JSON()) + "\n"
			}
			id := k.group + "/" + k.kind
			for _, p := range past[id] {
				if p.mark == v.Mark(k.group, k.kind) && p.text != text {
					t.Fatalf("at %d %s has the mark of other objects:\n%s\n%s", index, id, p.text, text)
				}
			}
			past[id] = append(past[id], seen{v.Mark(k.group, k.kind), text})
		}
	}
}

func TestMarkStays(t *testing.T) {
	s := store.New(store.Options{})
	put := func(index uint64, k object.Key) {
		t.Helper()
		if _, err := s.Apply(index, store.Command{Mutations: []store.Mutation{{Key: k, Object: document(k, "x")}}}); err != nil {
			t.Fatal(err)
		}
	}
	put(1, object.Key{Group: "roles", Kind: "Role", Namespace: "a", Name: "r"})
	put(2, object.Key{Kind: "Pod", Namespace: "a", Name: "p1"})
	was, group := s.View().Mark("roles", "Role"), s.View().Mark("roles", "")
	put(3, object.Key{Kind: "Pod", Namespace: "a", Name: "p2"})
	if s.View().Mark("roles", "Role") != was || s.View().Mark("roles", "") != group {
		t.Error("another group changed the mark")
	}
	put(4, object.Key{Group: "roles", Kind: "Role", Namespace: "b", Name: "r"})
	if s.View().Mark("roles", "Role") == was || s.View().Mark("roles", "") == group {
		t.Error("a new object did not change the mark")
	}
}
