package playbooks

import (
	"slices"
	"testing"
)

func TestAReasonIsSaidOnceForAllThatShareIt(t *testing.T) {
	t.Parallel()
	f := facts{"a": {why: "Prometheus is away"}, "b": {why: "no data"}, "c": {why: "Prometheus is away"}}
	if got, want := (&Catalog{}).byReason([]string{"a", "b", "c"}, f),
		[]string{"a, c (Prometheus is away)", "b (no data)"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
