package efficacy

import (
	"slices"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// hand looks after a fleet in a cluster. It implements trial.Hand.
type hand struct {
	world *world
	// act does what the hand does at a look, after everybody else has.
	act func(now time.Time) error

	last    settings
	changes []change
}

// seen is the hand with what it has seen.
func (h *hand) seen() *hand { return h }

// settings are what a hand can set, as somebody sees them who looks at the cluster.
type settings struct {
	Replicas int
	Args     []string
}

func (s settings) equal(o settings) bool {
	return s.Replicas == o.Replicas && slices.Equal(s.Args, o.Args)
}

// change is a change that was seen: new settings, or a pod that was deleted by hand.
type change struct {
	At       time.Time
	Settings settings
	// Deleted is the name that the fleet has for the pod; empty: none was.
	Deleted string
}

// Look implements trial.Hand. It lets the bot and Alertmanager live until now, then the cluster, then Prometheus.
func (h *hand) Look(now time.Time) (int, error) {
	w := h.world
	time.Sleep(time.Until(now)) //nolint:forbidigo // simulated time is to pass
	synctest.Wait()
	before := len(h.changes)
	for _, step := range []func() error{
		w.step, h.see, w.monitor.scrape, func() error { return w.monitor.evaluate(now) },
		func() error { return h.act(now) },
	} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	return len(h.changes) - before, nil
}

// see notes what has been changed since the last look.
func (h *hand) see() error {
	d, err := kubeapi.Get[appsv1.Deployment](h.world.kube.As("kubectl"), deployments, namespace, modelName)
	if err != nil {
		return err
	}
	now := settings{Replicas: int(*d.Spec.Replicas), Args: d.Spec.Template.Spec.Containers[0].Args[len(baseArgs()):]}
	if h.last.Replicas > 0 && !now.equal(h.last) {
		h.changes = append(h.changes, change{At: time.Now(), Settings: now})
	}
	h.last = now
	return nil
}

// deletes notes that a pod was deleted by hand.
func (h *hand) deletes(pod string) {
	for inFleet, name := range h.world.pods.Names() {
		if name == pod {
			h.changes = append(h.changes, change{At: time.Now(), Settings: h.last, Deleted: inFleet})
		}
	}
}
