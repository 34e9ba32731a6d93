package crash

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// outcome is everything that a run leaves behind and that somebody could see.
type outcome struct {
	// Messages are those of the channel as they are in the end, Thread all replies.
	Messages, Thread []string
	// Incidents are states with their steps; Ledger the writes that the bot remembers.
	Incidents, Ledger []string
	// Writes are the requests that were meant to change the cluster, from the API server's own log.
	Writes []string
	// Replicas and Limit are what the objects say.
	Replicas, Limit int64
}

func (r *run) outcome() outcome {
	r.t.Helper()
	var o outcome
	for _, m := range r.slack.Messages(channel) {
		o.Messages = append(o.Messages, r.plain(m.VisibleText()))
		for _, reply := range r.slack.Thread(channel, m.TS) {
			o.Thread = append(o.Thread, r.plain(reply.Text))
		}
	}
	for _, e := range r.c.Audit(r.t, bot) {
		if e.Writing() && !e.Review() && !e.DryRun() && e.ObjectRef != nil && e.ObjectRef.Namespace == r.ns {
			o.Writes = append(o.Writes, r.plain(e.ObjectRef.Resource+" "+e.ObjectRef.Subresource+" "+string(e.RequestObject)))
		}
	}
	d, err := r.c.Dynamic(r.t).Resource(deployments).Namespace(r.ns).Get(r.t.Context(), r.name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	p, err := r.c.Dynamic(r.t).Resource(policies).Namespace(r.ns).Get(r.t.Context(), r.name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	o.Replicas, o.Limit = number(d, "spec", "replicas"), number(p, "spec", "circuitBreaker", "maxParallelRequests")
	o.Incidents, o.Ledger = r.kept()
	return o
}

// kept reads the store of a bot that has ended.
func (r *run) kept() (incidents, ledger []string) {
	r.t.Helper()
	ctx := context.WithoutCancel(r.t.Context())
	s, err := store.Open(ctx, "sqlite://"+r.database(),
		store.Options{ChannelFor: func(string) string { return channel }, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			r.t.Error(err)
		}
	}()
	all, err := s.Incidents(ctx, incident.Filter{AllPools: true, Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, inc := range all {
		words := []string{string(inc.State)}
		for _, step := range append(slices.Clone(inc.AppliedEarlier), inc.Plan.Steps...) {
			// On a busy machine a query that came too late makes the bot investigate once more. That plan says of the throttle,
			// which is in effect, that it cannot be set again.
			if step.State == incident.StepRefused && step.Kind == incident.StepThrottle {
				continue
			}
			words = append(words, string(step.Kind), string(step.State))
		}
		incidents = append(incidents, strings.Join(words, " "))
	}
	writes, err := s.WritesSince(ctx, r.name, time.Time{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, w := range writes {
		ledger = append(ledger, strings.Join([]string{string(w.Kind), string(w.Op), string(w.Result)}, " "))
	}
	dead, err := s.DeadDeliveries(ctx)
	if err != nil || dead > 0 {
		r.t.Errorf("%d deliveries were given up, %v", dead, err)
	}
	return incidents, ledger
}

// differs are the parts of texts that belong to one run: ids, digests, moments and how long something took.
var differs = []struct {
	part *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`inc-[a-z0-9]+(\.p\d+-s\d+\.\w+\.\d+|/\d+)?`), "INC"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d)?\b`), "TIME"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`\b((\d+m)?\d+ ?s|\d+ min)\b`), "DURATION"},
	{regexp.MustCompile(`"value":"[0-9a-f-]{36}"`), "UID"},
	{regexp.MustCompile(`resourceVersion","value":"\d+"`), "RESOURCE VERSION"},
	// The journal may say how it knows that a write took effect.
	{regexp.MustCompile(` ?Found applied after an interruption\.`), ""},
}

func (r *run) plain(text string) string {
	named := strings.NewReplacer(r.name, "POOL", r.ns, "NAMESPACE")
	for n, d := range differs {
		text = d.part.ReplaceAllString(text, d.with)
		if n == 0 { // an id may have the letters of a namespace in it
			text = named.Replace(text)
		}
	}
	return text
}

// sound holds what every undisturbed run must be, so that two wrong ones are not taken for right because they are
// alike. says is in its thread.
func (o outcome) sound(t *testing.T, says string) {
	t.Helper()
	if o.Replicas != replicas+1 || o.Limit != limit || len(o.Messages) != 1 || len(o.Writes) != 3 ||
		len(o.Incidents) != 1 || len(o.Ledger) != 3 ||
		!strings.Contains(strings.Join(o.Thread, "\n"), says) {
		t.Errorf("the undisturbed run is not what it should be: %+v", o)
	}
}
