package efficacy

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// person is whoever is on call: approves what the bot asks, accepts the rollbacks that it offers, and deletes a pod by
// hand where the bot says that it is the one to delete, because no step of the bot does that.
type person struct {
	// delay is how long it takes until a question that has just been asked is answered; false: it never is.
	delay func() (time.Duration, bool)
	// due is when each question is answered; zero: never.
	due map[string]time.Time
	// deleted is when a pod was deleted last: what the signals show lags behind that.
	deleted time.Time
}

// patience is how long somebody waits who has deleted a pod before they delete another one.
const patience = 10 * time.Minute

// instant is somebody who sits before the screen.
func instant() *person {
	return &person{due: map[string]time.Time{}, delay: func() (time.Duration, bool) { return 0, true }}
}

// A person on call answers after typicalDelay in the median, log-normally distributed. Google's SRE book (chapter 11)
// names five minutes as the usual time to respond for services that users wait for; of these two in three keep it. One
// question in ten is never answered.
const (
	typicalDelay = 4 * time.Minute
	spread       = .6
	overlooked   = .1
)

// human is somebody who has other things to do. The same script and seed give the same person.
func human(script string, seed uint64) *person {
	name := fnv.New64()
	_, _ = name.Write([]byte(script))
	rnd := rand.New(rand.NewPCG(seed, name.Sum64())) //nolint:gosec // a play is to be repeatable
	return &person{due: map[string]time.Time{}, delay: func() (time.Duration, bool) {
		after := time.Duration(float64(typicalDelay) * math.Exp(spread*rnd.NormFloat64()))
		return after, rnd.Float64() >= overlooked
	}}
}

// answers says whether a question is answered by now. It is asked again and again while the question is open.
func (p *person) answers(question string, now time.Time) bool {
	at, known := p.due[question]
	if !known {
		after, ever := p.delay()
		if at = now.Add(after); !ever {
			at = time.Time{}
		}
		p.due[question] = at
	}
	return !at.IsZero() && !now.Before(at)
}

// sees lets the person look at an incident as it is now.
func (p *person) sees(h *hand, bot *client, inc incident.Incident, now time.Time) error {
	if pod := toDelete(inc); pod != "" && now.Sub(p.deleted) > patience && p.answers(inc.ID+" delete "+pod, now) {
		p.deleted = now
		return remove(h, pod)
	}
	if inc.State != incident.StateDeciding {
		return nil
	}
	question := inc.ID + " " + inc.AskedAt().String()
	if s, ok := present.Offered(inc); ok {
		if p.answers(question, now) {
			return bot.undo(inc.ID, s.ID)
		}
		return nil
	}
	if all := present.Questions(inc); len(all) > 0 && p.answers(question, now) {
		return bot.approve(inc, all[0])
	}
	return nil
}

// toDelete is the pod that the bot's message says to delete: its diagnosis is one bad pod, and it names the pod. Empty
// when there is none, and when the message says to leave it: it works, and gets more than its share.
func toDelete(inc incident.Incident) string {
	if inc.Diagnosis == nil || inc.Diagnosis.Name != "one-bad-replica" || inc.State == incident.StateClosed {
		return ""
	}
	stalled := inc.Readings["stalled_pods"]
	busy := slices.ContainsFunc([]string{"busy_pods", "busy_late_pods", "busy_slow_pods"}, func(name string) bool {
		return inc.Readings[name].HasValue()
	})
	if busy && !(stalled.HasValue() && *stalled.Value > 0) {
		return ""
	}
	for _, c := range inc.Diagnosis.Evidence {
		if c.Truth != incident.True {
			continue
		}
		// Outliers are the bad pods alone, so that there may be one of them and none to compare it with.
		if pods, mark := present.Pods(inc.Readings[c.Signal]); mark != "" || len(pods) == 1 {
			return pods[0].Pod
		}
	}
	return ""
}

// remove deletes a pod, if it is still there.
func remove(h *hand, pod string) error {
	of := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod}}
	err := h.world.kube.As("kubectl").Delete(corev1.SchemeGroupVersion.WithResource("pods"), of, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	h.deletes(pod)
	return err
}
