package webhook

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// sized is what the texts take.
func sized(texts map[string]string) int {
	n := 0
	for k, v := range texts {
		n += len(k) + len(v)
	}
	return n
}

func TestTextsOfAnAlertAreClipped(t *testing.T) {
	t.Parallel()
	many := func(n int, value string) map[string]string {
		out := map[string]string{"alertname": "A"}
		for i := range n {
			out[fmt.Sprintf("l%04d", i)] = value
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		alert incident.Alert
		same  bool
	}{
		{"those of a real rule", incident.Alert{
			Labels:       map[string]string{"alertname": "A", "pod": strings.Repeat("p", 253)},
			Annotations:  map[string]string{"description": strings.Repeat("d", 1500)},
			GeneratorURL: "http://prom/graph?g0.expr=" + strings.Repeat("x", 3000),
		}, true},
		{"a long annotation", incident.Alert{
			Labels: many(1, "x"), Annotations: map[string]string{"a": strings.Repeat("ü", 100_000)},
		}, false},
		{"a long label", incident.Alert{Labels: map[string]string{"a": strings.Repeat("ü", 100_000)}}, false},
		{"a long name", incident.Alert{Labels: map[string]string{strings.Repeat("n", 100_000): "a"}}, false},
		{"a long link", incident.Alert{Labels: many(1, "x"), GeneratorURL: "http://p/" + strings.Repeat("x", 1<<20)}, false},
		{"many labels", incident.Alert{Labels: many(maxPairs, strings.Repeat("v", 200))}, false},
		{"many annotations", incident.Alert{Labels: many(1, "x"), Annotations: many(maxPairs, "some text")}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := tt.alert
			clipAlert(&got)
			same := maps.Equal(got.Labels, tt.alert.Labels) && maps.Equal(got.Annotations, tt.alert.Annotations) &&
				got.GeneratorURL == tt.alert.GeneratorURL
			if same != tt.same {
				t.Errorf("left as it is: %t", same)
			}
			if l, a := sized(got.Labels), sized(got.Annotations); l > mostLabels+200 || a > mostNotes+200 ||
				len(got.GeneratorURL) > mostLink || len(got.Labels) == 0 {
				t.Errorf("%d bytes of labels, %d of annotations, %d of the link", l, a, len(got.GeneratorURL))
			}
			all := got.GeneratorURL
			for _, texts := range []map[string]string{got.Labels, got.Annotations} {
				for k, v := range texts {
					all += k + v
				}
			}
			if !utf8.ValidString(all) {
				t.Error("a rune is cut in two")
			}
			if !tt.same && !strings.Contains(all, incident.ClipMark) && !strings.Contains(all, leftOutName) {
				t.Error("nothing says that something was left out")
			}
		})
	}
}

// What tells two alerts apart still does when it is cut off.
func TestClippingMakesNoTwoLabelsEqual(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	clipped := func(labels map[string]string) map[string]string {
		a := incident.Alert{Labels: labels}
		clipAlert(&a)
		return a.Labels
	}
	many := func(last string) map[string]string {
		out := map[string]string{"z": last}
		for i := range maxPairs - 1 {
			out[fmt.Sprintf("l%04d", i)] = strings.Repeat("v", 100)
		}
		return out
	}
	for name, pair := range map[string][2]map[string]string{
		"values":        {{"a": long + "1"}, {"a": long + "2"}},
		"names":         {{long + "1": "a"}, {long + "2": "a"}},
		"what left out": {many("1"), many("2")},
	} {
		if maps.Equal(clipped(pair[0]), clipped(pair[1])) {
			t.Errorf("two %s became one", name)
		}
	}
	if both := clipped(map[string]string{long + "1": "a", long + "2": "b"}); len(both) != 2 {
		t.Errorf("two names became %d", len(both))
	}
}
