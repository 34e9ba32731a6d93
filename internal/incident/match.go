package incident

// MatchPool returns the pool whose match labels all stand in the labels; of several the one with the most. Ties between
// pools are refused when the configuration is read (Ambiguous).
func MatchPool(pools []Pool, labels map[string]string) (Pool, bool) {
	best, found := Pool{}, false
	for _, p := range pools {
		if len(p.Match) == 0 || !contains(labels, p.Match) {
			continue
		}
		if !found || len(p.Match) > len(best.Match) {
			best, found = p, true
		}
	}
	return best, found
}

// Ambiguous says whether an alert could match both pools equally well: as many match labels, and none that contradict.
func Ambiguous(a, b Pool) bool {
	if len(a.Match) == 0 || len(a.Match) != len(b.Match) {
		return false
	}
	for k, v := range a.Match {
		if w, ok := b.Match[k]; ok && v != w {
			return false
		}
	}
	return true
}

func contains(labels, want map[string]string) bool {
	for k, v := range want {
		if labels[k] != v {
			return false
		}
	}
	return true
}
