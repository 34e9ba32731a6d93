// Package nearest finds the known name that a misspelled one may have meant.
package nearest

import "strings"

// Name is the known name with the fewest changed letters, as long as those are few for its length; else one that begins
// like it; else "".
func Name(name string, known []string) string {
	length := len([]rune(name))
	best, at := length/3+1, ""
	if length > 3 {
		best = max(best, 3)
	}
	for _, k := range known {
		if d := Distance(strings.ToLower(name), strings.ToLower(k)); d < best {
			best, at = d, k
		}
	}
	if at != "" || length < 3 {
		return at
	}
	for _, k := range known {
		if len(k) >= 3 && (strings.HasPrefix(k, name) || strings.HasPrefix(name, k)) {
			return k
		}
	}
	return ""
}

// Distance is how many letters have to be put in, left out, changed, or swapped with their neighbor (optimal string
// alignment).
func Distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	before, row := make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		next := make([]int, len(to)+1)
		next[0] = i + 1
		for j, y := range to {
			change := row[j]
			if x != y {
				change++
			}
			next[j+1] = min(change, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && x == to[j-1] && from[i-1] == y {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(to)]
}
