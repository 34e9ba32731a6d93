package incident

import "slices"

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
	return !contradict(a.Match, b.Match)
}

// LeadsOnlyTo says whether every alert that carries at least these labels leads to the pool with the name, whatever
// else it carries: what matches the pool matches none that has more match labels, nor could.
func LeadsOnlyTo(pools []Pool, name string, labels map[string]string) bool {
	best, found := MatchPool(pools, labels)
	return found && best.Name == name && !slices.ContainsFunc(pools, func(p Pool) bool {
		return len(p.Match) > len(best.Match) && !contradict(p.Match, labels)
	})
}

// contradict says that no alert can carry both.
func contradict(a, b map[string]string) bool {
	for k, v := range a {
		if w, ok := b[k]; ok && v != w {
			return true
		}
	}
	return false
}

func contains(labels, want map[string]string) bool {
	for k, v := range want {
		if labels[k] != v {
			return false
		}
	}
	return true
}
