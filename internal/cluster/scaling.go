package cluster

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// sameAct is how far apart the events of an autoscaler and of the Deployment that obeys it are at most.
const sameAct = time.Minute

// scaling is one change of a number of replicas.
type scaling struct {
	at     time.Time
	object string
	text   string
	// replicaSet, up and from are of a Deployment's event; from is -1 where an old controller does not say it.
	replicaSet string
	up         bool
	from       int64
	// to is the new number; -1 when it is not said.
	to int64
}

// scaled and resized are the texts of the Deployment controller (pkg/controller/deployment/sync.go) and of the
// autoscaler (pkg/controller/podautoscaler/horizontal.go). Of more than ten alike within ten minutes only the last is
// kept, with a note before it (k8s.io/client-go/tools/record/events_cache.go).
var (
	scaled = regexp.MustCompile(
		`^(?:\(combined from similar events\): )?Scaled (up|down) replica set (\S+) (?:from (\d+) )?to (\d+)`,
	)
	resized = regexp.MustCompile(`^New size: (\d+);`)
)

// deploymentScalings are the scale events of a Deployment.
func (k *Reader) deploymentScalings(ctx context.Context, of incident.WorkloadRef, now time.Time) ([]scaling, error) {
	found, err := k.eventsWith(
		ctx,
		of.Namespace,
		fields.Set{"involvedObject.kind": of.Kind, "involvedObject.name": of.Name, "reason": "ScalingReplicaSet"},
		lately(now),
	)
	var out []scaling
	for i := range found {
		e := &found[i]
		m := scaled.FindStringSubmatch(e.Message)
		if m == nil {
			continue
		}
		out = append(out, scaling{
			at: eventTime(
				e,
			).UTC(),
			object: of.Kind + " " + of.Name, text: redact.Shown(e.Message),
			replicaSet: m[2], up: m[1] == "up", from: replicaNumber(m[3]), to: replicaNumber(m[4]),
		})
	}
	return out, err
}

// scalerScalings are the scale events of autoscalers, of KEDA and of AIBrix, whose PodAutoscaler speaks as an
// autoscaler does.
func (k *Reader) scalerScalings(ctx context.Context, scalers []Autoscaler, now time.Time) ([]scaling, error) {
	var (
		out  []scaling
		errs []error
	)
	type spoken struct{ kind, name, reason string }
	for _, s := range scalers {
		var all []spoken
		if s.HPA != "" {
			all = append(all, spoken{HPAKind, s.HPA, HPA.reasons[0]})
		}
		for _, maker := range InstalledAutoscalers() {
			for _, reason := range maker.reasons {
				if maker.Kind == s.Kind {
					all = append(all, spoken{s.Kind, s.Name, reason})
				}
			}
		}
		for _, of := range all {
			found, err := k.eventsWith(ctx, s.Namespace, fields.Set{
				"involvedObject.kind": of.kind, "involvedObject.name": of.name, "reason": of.reason,
			}, lately(now))
			errs = append(errs, err)
			for i := range found {
				out = append(out, rescaling(of.kind+" "+of.name, &found[i]))
			}
		}
	}
	return out, errors.Join(errs...)
}

// rescaling is what an event of an autoscaler says.
func rescaling(object string, e *corev1.Event) scaling {
	out := scaling{at: eventTime(e).UTC(), object: object, text: redact.Shown(e.Message), from: -1, to: -1}
	if m := resized.FindStringSubmatch(e.Message); m != nil {
		out.to = replicaNumber(m[1])
	}
	return out
}

func lately(now time.Time) func(*corev1.Event) bool {
	return func(e *corev1.Event) bool { return recent(eventTime(e), now) }
}

// replicaNumber reads a number out of an event; -1 when it does not say one.
func replicaNumber(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// scalings turns events into changes. What a Deployment does in a rollout is no scaling, and what it does for its
// autoscaler is said once, by the autoscaler, which has the reason.
func scalings(own, scalers []scaling, h *history) []incident.RecentChange {
	var out []incident.RecentChange
	for _, s := range own {
		if h.explains(s) || obeys(s, scalers) {
			continue
		}
		out = append(out, s.change())
	}
	return out
}

func (s scaling) change() incident.RecentChange {
	c := incident.RecentChange{At: s.at, Kind: incident.ChangeScale, Object: s.object, Text: s.text}
	if s.to >= 0 {
		c.To = &s.to
	}
	return c
}

func obeys(s scaling, scalers []scaling) bool {
	for _, a := range scalers {
		if a.to >= 0 && a.to == s.to && s.at.Sub(a.at).Abs() <= sameAct {
			return true
		}
	}
	return false
}

// explains says whether a scaling belongs to a rollout: the newest revision grows until the rollout has ended, those
// before it shrink once it has begun.
func (h *history) explains(s scaling) bool {
	last := len(h.revisions) - 1
	at := -1
	for i := range h.revisions {
		if h.revisions[i].object == "ReplicaSet "+s.replicaSet {
			at = i
		}
	}
	if at < 0 { // it is no longer kept, so there was a later one
		return last >= 0 && !s.at.Before(h.revisions[0].created)
	}
	begun, back := h.began(last)
	if at == last && (!back || !s.at.Before(begun)) {
		return s.up && (s.from == 0 || h.running || !s.at.After(h.finished))
	}
	end := h.succeeded(at)
	if end.IsZero() { // the newest by age: it ended when an older one came back
		if h.revisions[last].renewed.IsZero() {
			return true
		}
		end = begun
	}
	return !s.at.Before(end) || s.up && (s.from == 0 || recent(h.revisions[at].created, s.at))
}

// succeeded is when a younger revision took over; zero when there is none.
func (h *history) succeeded(at int) time.Time {
	var out time.Time
	for _, r := range h.revisions {
		if r.created.After(h.revisions[at].created) && (out.IsZero() || r.created.Before(out)) {
			out = r.created
		}
	}
	return out
}

// dateReturn finds out when a Deployment went back to an earlier template: its ReplicaSet, which is old, grew from
// nothing then.
func (h *history) dateReturn(events []scaling) {
	last := len(h.revisions) - 1
	if last < 0 {
		return
	}
	newest, succeeded := &h.revisions[last], h.succeeded(last)
	if succeeded.IsZero() {
		return
	}
	for _, s := range events {
		if s.up && s.from == 0 && newest.object == "ReplicaSet "+s.replicaSet && !s.at.Before(succeeded) &&
			s.at.After(newest.renewed) {
			newest.renewed = s.at
		}
	}
}
