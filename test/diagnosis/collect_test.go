package diagnosis

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
)

// collected are series in memory, and a sum over all that was appended.
type collected struct {
	series []series
	sum    uint64
}

type series struct {
	labels  labels.Labels
	samples []promembed.Sample
}

// Append implements Sink.
func (c *collected) Append(ls labels.Labels, samples []promembed.Sample) error {
	c.series = append(c.series, series{ls, samples})
	h, text := fnv.New64a(), []byte(ls.String())
	for _, s := range samples {
		text = fmt.Appendf(text, "%d=%x;", s.T.UnixMilli(), math.Float64bits(s.V))
	}
	if _, err := h.Write(text); err != nil {
		return err
	}
	c.sum ^= h.Sum64()
	return nil
}

func (c *collected) names() []string {
	var out []string
	for _, s := range c.series {
		if n := s.labels.Get(prommodel.MetricNameLabel); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func corpus(t *testing.T) []Incident {
	t.Helper()
	all, err := Read("corpus")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func named(t *testing.T, name string) Incident {
	t.Helper()
	all := corpus(t)
	i := slices.IndexFunc(all, func(x Incident) bool { return x.Name == name })
	if i < 0 {
		t.Fatalf("the corpus has no incident %s", name)
	}
	return all[i]
}

func generate(t *testing.T, inc Incident) *collected {
	t.Helper()
	c := &collected{}
	if err := inc.Generate(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// lives are the stretches of samples between staleness marks: a process, or a target that was lost for a while.
func (s series) lives() [][]float64 {
	out := [][]float64{nil}
	for _, x := range s.samples {
		if value.IsStaleNaN(x.V) {
			out = append(out, nil)
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], x.V)
	}
	return out
}
