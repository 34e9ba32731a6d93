package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/web"
)

// The scale of a share ends at 100% where all of it is below: nobody's cache is 109% full. One that is beyond it is
// drawn as it is.
func TestTheScaleOfAShareEndsAtAll(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		unit  incident.Unit
		peak  float64
		limit float64
		want  string
	}{
		{"a share", incident.UnitRatio, 0.97, 0.95, "100%"},
		{"more than all", incident.UnitRatio, 1.3, 0.95, "130%"},
		{"a limit beyond all", incident.UnitRatio, 0.5, 1, "115%"},
		{"no share", incident.UnitSeconds, 0.97, 0.95, "1.09 s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r := incident.Reading{Signal: "kv_usage", Title: "KV cache", Unit: tc.unit, Value: &tc.peak, Threshold: &tc.limit}
			for n := range 10 {
				r.Series = append(r.Series, incident.Point{
					At: now.Add(time.Duration(n-10) * time.Minute), Value: tc.peak * float64(n+1) / 10,
				})
			}
			s.health = map[string]web.Health{"llama": {At: now, Readings: map[string]incident.Reading{"kv_usage": r}}}
			s.expect("pauses", nil, []incident.Pause{}, nil)
			s.expect("list", incident.Filter{Pool: "llama", Limit: 20}, []incident.Incident{}, nil)
			page := s.look("/pools/llama")
			if want := `<span class="top">` + tc.want + `</span>`; !strings.Contains(page, want) {
				_, got, _ := strings.Cut(page, `<span class="top">`)
				t.Errorf("the scale ends at %.12s, want %s", got, tc.want)
			}
		})
	}
}

// Whoever reads a command on a phone must be able to tell its words: a line does not end at a hyphen of one.
func TestTheWordsOfACommandStayWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.expect("pauses", nil, []incident.Pause{}, nil)
	s.expect("list", incident.Filter{Pool: "llama", Limit: 20}, []incident.Incident{}, nil)
	const want = `<pre class="copy"><span class="whole">vllm-medic</span> <span class="whole">pause</span> ` +
		`<span class="whole">--reason</span> <span class="whole">REASON</span>`
	if page := s.look("/pools/llama"); !strings.Contains(page, want) {
		t.Errorf("the page lacks %s", want)
	}
}
