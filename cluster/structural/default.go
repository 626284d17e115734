package structural

// Pruned returns v without the members that the schema does not have, and
// without nulls where it does not say nullable. v is not changed.
func (s *Schema) Pruned(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for key, e := range x {
			f := s.Property(key)
			switch {
			case e == nil:
				if f != nil && f.Nullable || f == nil && s.PreserveUnknown {
					out[key] = nil
				}
			case f != nil:
				out[key] = f.Pruned(e)
			case !s.closed():
				out[key] = e
			}
		}
		return out
	case []any:
		if s.Items == nil {
			return v
		}
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = s.Items.Pruned(e)
		}
		return out
	}
	return v
}

// WithDefaults returns v with the schema's defaults filled in for absent
// members, everywhere that v has objects. v is not changed; what needs no
// default is shared with it.
func (s *Schema) WithDefaults(v any) any {
	switch x := v.(type) {
	case map[string]any:
		return s.objectDefaults(x)
	case []any:
		if s.Items == nil {
			return v
		}
		out := make([]any, len(x))
		for i, item := range x {
			out[i] = s.Items.WithDefaults(item)
		}
		return out
	}
	return v
}

func (s *Schema) objectDefaults(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for key, v := range m {
		if v == nil {
			continue
		}
		if f := s.Property(key); f != nil {
			v = f.WithDefaults(v)
		}
		out[key] = v
	}
	for _, key := range s.names {
		f := s.Properties[key]
		if _, ok := out[key]; !ok && f.Default != nil {
			out[key] = f.WithDefaults(f.Default)
		}
	}
	return out
}
