package diagnosis

import (
	"fmt"
	"strconv"
	"strings"
)

// version is a vLLM release, ordered.
type version int

func release(major, minor, patch int) version { return version(major*1_000_000 + minor*1_000 + patch) }

// parseVersion reads "0.10" or "0.10.2".
func parseVersion(s string) (version, error) {
	var n [3]int
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, fmt.Errorf("%q is not a version such as 0.10.2", s)
	}
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 || v > 999 {
			return 0, fmt.Errorf("%q is not a version such as 0.10.2", s)
		}
		n[i] = v
	}
	return release(n[0], n[1], n[2]), nil
}

// edition is what decides which metrics exist and how they look.
type edition struct {
	version version
	v0      bool
}

func (inc *Incident) edition() edition {
	v, err := parseVersion(inc.Generation)
	if err != nil {
		v = 0 // refused by problems
	}
	return edition{version: v, v0: inc.Engine == "V0" || inc.Engine == "" && v < release(0, 8, 0)}
}

// from says whether the edition is that release or later.
func (e edition) from(minor, patch int) bool { return e.version >= release(0, minor, patch) }
