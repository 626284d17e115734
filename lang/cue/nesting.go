package cue

// maxNesting bounds brackets inside brackets, operators before operators and
// labels inside labels of a source file. The parser and the compiler of CUE
// recurse without a limit of their own, and a Go stack that overflows cannot
// be recovered.
const maxNesting = 2000

// tooDeep returns the line on which a source nests too deep, or 0. It does not
// know strings from code, so it may count brackets in strings; real programs
// stay far below the limit all the same.
func tooDeep(src []byte) int {
	depth, operators, labels, line := 0, 0, 0, 1
	var last byte
	for _, c := range src {
		switch c {
		case ' ', '\t', '\r':
			continue
		case '\n':
			line++
			if last != ':' {
				labels = 0
			}
			continue
		case '(', '[', '{':
			depth++
			labels = 0
		case ')', ']', '}':
			depth = max(0, depth-1)
			operators, labels = 0, 0
		case ',':
			operators, labels = 0, 0
		case ':':
			labels++
		case '!', '-', '+', '*', '<', '>', '=', '&', '|':
			operators++
		default:
			operators = 0
		}
		last = c
		if max(depth, operators, labels) > maxNesting {
			return line
		}
	}
	return 0
}
