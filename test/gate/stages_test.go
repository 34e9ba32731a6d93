package gate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableSaysWhereTheTimeWent(t *testing.T) {
	t.Parallel()
	got := Table([]Stage{
		{Name: "prepare", Took: 3 * time.Second},
		{Name: "small", Took: 412 * time.Second, Tests: 7301, Larger: 1030},
		{Name: "again", Took: 9 * time.Second, Again: 1},
	})
	want := `    stage  seconds  tests  skipped by size  run again
  prepare        3      -                -          -
    small      412   7301             1030          -
    again        9      -                -          1
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
