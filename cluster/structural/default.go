package structural

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
