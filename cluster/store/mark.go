package store

// Mark stands for the objects of one kind, or of one group, in one Snapshot.
// Marks that are equal stand for the same objects; marks of one Store that
// differ need not stand for different ones. Use it to keep what was computed
// from them.
type Mark struct{ node <-chan struct{} }

// Mark returns the mark of a kind; without a kind that of the whole group. It
// costs a walk from the root and no memory.
func (s Snapshot) Mark(group, kind string) Mark {
	prefix := append([]byte(group), 0)
	if kind != "" {
		prefix = append(append(prefix, kind...), 0)
	}
	// Every change copies the nodes on its way, and each copy has a channel of
	// its own: the deepest node above all keys with the prefix tells the versions
	// apart.
	return Mark{s.state.tree.Root().Iterator().SeekPrefixWatch(prefix)}
}
