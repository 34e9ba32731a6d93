package trial

import (
	"math"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// HPA scales on the average of the waiting requests per pod as Kubernetes' HorizontalPodAutoscaler does with its
// default behavior (kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale; podautoscaler of
// kubernetes v1.37): a tolerance of 10%, at most the double or four more in 15 s, and down no lower than the highest
// recommendation of the last five minutes. The target of 5 is that of production-stack's chart.
func HPA(f *fleet.Fleet, s Script) (Hand, error) {
	return &hpa{fleet: f, scraper: fleet.NewScraper(f, false), least: s.Replicas, most: s.MaxReplicas}, nil
}

const (
	hpaTarget    = 5.
	hpaTolerance = .1
	hpaStabilize = 5 * time.Minute
)

type hpa struct {
	fleet       *fleet.Fleet
	scraper     *fleet.Scraper
	least, most int
	recommended []recommendation
}

type recommendation struct {
	at       time.Time
	replicas int
}

// Look is one sync.
func (h *hpa) Look(now time.Time) (int, error) {
	waiting, pods := 0., 0
	err := h.scraper.Scrape(func(ls labels.Labels, _ int64, v float64) error {
		if ls.Get(model.MetricNameLabel) == "vllm:num_requests_waiting" && !value.IsStaleNaN(v) {
			waiting += v
			pods++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	current := len(h.fleet.State().Replicas)
	wanted := h.limited(now, current, desired(current, pods, waiting))
	if wanted == current {
		return 0, nil
	}
	return 1, h.fleet.SetReplicas(wanted)
}

// desired is the controller's rule for pod metrics. Pods without a metric count as idle when the others ask for more,
// and as right at the target when they ask for fewer.
func desired(current, pods int, waiting float64) int {
	if pods == 0 {
		return current
	}
	ratio := waiting / float64(pods) / hpaTarget
	missing := current - pods
	if missing <= 0 {
		if math.Abs(ratio-1) <= hpaTolerance {
			return current
		}
		return int(math.Ceil(ratio * float64(pods)))
	}
	if ratio < 1 {
		waiting += float64(missing) * hpaTarget
	}
	again := waiting / float64(current) / hpaTarget
	if math.Abs(again-1) <= hpaTolerance || (ratio < 1) != (again < 1) {
		return current
	}
	wanted := int(math.Ceil(again * float64(current)))
	if (again < 1 && wanted > current) || (again > 1 && wanted < current) {
		return current
	}
	return wanted
}

// limited applies the default behavior and the bounds.
func (h *hpa) limited(now time.Time, current, wanted int) int {
	kept := h.recommended[:0]
	highest := wanted
	for _, r := range h.recommended {
		if now.Sub(r.at) < hpaStabilize {
			kept = append(kept, r)
			highest = max(highest, r.replicas)
		}
	}
	h.recommended = append(kept, recommendation{now, wanted})
	if wanted < current {
		wanted = min(current, highest)
	}
	wanted = min(wanted, max(2*current, current+4))
	return min(max(wanted, h.least), h.most)
}
