package evidence

import (
	"context"
	"math"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
)

// sampleAgeQuery gives the time of the newest sample of a pool. An instant query looks back five minutes, so that a
// Prometheus which has stopped to receive samples goes on answering with old ones.
const sampleAgeQuery = "max(timestamp(vllm:num_requests_running))"

// sampleAge is the age of a pool's newest sample. The zero value says nothing.
type sampleAge struct {
	// newest is the time of that sample; zero when it is not known.
	newest     time.Time
	age, limit time.Duration
	// problem says why the age is not known.
	problem string
}

func (c *Collector) sampleAge(ctx context.Context, d Dialect, matchers map[string]string, at time.Time) sampleAge {
	f := sampleAge{limit: c.cfg.MaxSampleAge}
	query, err := Rewrite(sampleAgeQuery, d, matchers)
	if err == nil {
		var got prometheus.Answer
		if got, err = c.prom.Instant(ctx, query, at); err == nil {
			v, ok, unreadable := single(got.Value)
			if ok && !math.IsNaN(v) {
				f.newest = time.UnixMilli(int64(v * 1000)).UTC()
				f.age = at.Sub(f.newest)
			}
			err = unreadable
		}
	}
	if err != nil {
		f.problem = "the age of the samples is not known: " + err.Error()
	}
	return f
}

// apply makes a reading of old samples an error. clock is the warning about clocks that differ, by which samples look
// older than they are.
func (f sampleAge) apply(r *incident.Reading, clock string) {
	if f.age > f.limit && r.Value != nil {
		r.Value, r.Bound = nil, incident.Exact
		r.Error = joinNotes(
			"stale: the newest sample of this pool is "+f.age.Round(time.Second).String()+" old, more than "+f.limit.String(),
			clock,
		)
	}
	r.Warning = joinNotes(r.Warning, f.problem)
}
