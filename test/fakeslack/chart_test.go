package fakeslack

import (
	"fmt"
	"strings"
	"testing"
)

func charts(n int) string {
	one := chartWith("line", 1, 1, 2, 3, 1)
	return list(n, func(int) string { return one[1 : len(one)-1] })
}

func TestChartSeriesMustHaveExactlyTheSameCategories(t *testing.T) {
	t.Parallel()
	series := func(points ...string) string {
		return list(len(points), func(i int) string { return fmt.Sprintf(`{"label":%q,"value":-1.5}`, points[i]) })
	}
	tests := []struct {
		name, data, detail string
	}{
		{"the same", series("a", "b"), ""},
		{"another order", series("b", "a"), ""},
		{"one missing", series("a"), "exactly one point for every category"},
		{"one unknown", series("a", "c"), "must match one of axis_config.categories"},
		{"one twice", series("a", "a"), "labels must be unique"},
		{"a point too many", series("a", "b", "b"), "exactly one point for every category"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raw := `[{"type":"data_visualization","title":"t","chart":{"type":"line","axis_config":{"categories":["a","b"]},
				"series":[{"name":"one","data":` + series("a", "b") + `},{"name":"two","data":` + tt.data + `}]}}]`
			_, e := checkMessageBlocks(raw)
			switch {
			case tt.detail == "" && e != nil:
				t.Errorf("refused: %v", e.details)
			case tt.detail != "" && (e == nil || !strings.Contains(strings.Join(e.details, "\n"), tt.detail)):
				t.Errorf("error = %+v, want %q", e, tt.detail)
			}
		})
	}
}
