package play

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// version is one of vLLM's: 0.MINOR.PATCH.
type version struct{ minor, patch int }

func readVersion(text string) (version, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || parts[0] != "0" {
		return version{}, fmt.Errorf("%q is not a version such as 0.24.0", text)
	}
	minor, errMinor := strconv.Atoi(parts[1])
	patch, errPatch := strconv.Atoi(parts[2])
	if errMinor != nil || errPatch != nil || minor < 0 || patch < 0 {
		return version{}, fmt.Errorf("%q is not a version such as 0.24.0", text)
	}
	return version{minor, patch}, nil
}

func (v version) before(minor, patch int) bool {
	return v.minor < minor || v.minor == minor && v.patch < patch
}

// dialect is the simulator's for a version. In 0.10.2 to 0.11 old and new names are there at once, and 0.8.3 is neither
// of the two around it: those are not played.
func (v version) dialect() (fleet.Dialect, error) {
	switch {
	case v.before(6, 4), !v.before(8, 3) && v.before(8, 4), !v.before(10, 2) && v.before(12, 0):
		return "", fmt.Errorf("version 0.%d.%d can't be played: 0.6.4 to 0.8.2 (the V0 engine), 0.8.4 to 0.10.1 and from "+
			"0.12.0 on can", v.minor, v.patch)
	case v.before(8, 3):
		return fleet.V0, nil
	case v.before(9, 2):
		return fleet.V1Early, nil
	case v.before(10, 2):
		return fleet.V1Middle, nil
	}
	return fleet.V1, nil
}
