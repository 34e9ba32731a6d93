package evidence

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

func TestOnlySilenceOfPrometheusIsNoAnswer(t *testing.T) {
	t.Parallel()
	const instance = "vllm.llm.svc:8000"
	for name, tt := range map[string]struct {
		answer promtest.Reply
		silent bool
	}{
		"a query that is refused": {promtest.Reply{Status: http.StatusBadRequest}, false},
		"a proxy that forbids it": {promtest.Reply{Status: http.StatusForbidden}, false},
		"an answer in part": {promtest.Reply{Body: `{"status":"success","isPartial":true,` +
			`"data":{"resultType":"vector","result":[]}}`}, false},
		"credentials":             {promtest.Reply{Status: http.StatusUnauthorized}, true},
		"a proxy without backend": {promtest.Reply{Status: http.StatusBadGateway}, true},
		"too many requests":       {promtest.Reply{Status: http.StatusTooManyRequests}, true},
		"a query that took too long": {
			promtest.Reply{
				Status: http.StatusServiceUnavailable,
				Body:   `{"status":"error","errorType":"timeout","error":"query timed out"}`,
			}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			// a 403 is asked for again, by GET
			f.Always(mustTargetQuery(t, map[string]string{"instance": instance}), tt.answer)
			_, _, err := newCollector(t, Config{Prometheus: prometheus.Config{URL: f.Serve(), Attempts: 1}},
				fakeKube{}).FindOwners(t.Context(), map[string]string{"instance": instance})
			if err == nil || errors.Is(err, incident.ErrUnanswered) != tt.silent {
				t.Errorf("nobody answered: want %v, got %v", tt.silent, err)
			}
		})
	}
	t.Run("nobody is there", func(t *testing.T) {
		t.Parallel()
		c := newCollector(t, Config{Prometheus: prometheus.Config{URL: "http://127.0.0.1:1", Attempts: 1}}, fakeKube{})
		if _, _, err := c.FindOwners(t.Context(), map[string]string{"instance": instance}); !errors.Is(err,
			incident.ErrUnanswered) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("Prometheus is away and Kubernetes may not be asked", func(t *testing.T) {
		t.Parallel()
		c := newCollector(t, Config{Prometheus: prometheus.Config{URL: "http://127.0.0.1:1", Attempts: 1}},
			fakeKube{err: errors.New("the right to list pods is missing")})
		if _, _, err := c.FindOwners(t.Context(), map[string]string{"instance": "10.0.0.7:8000"}); !errors.Is(err,
			incident.ErrUnanswered) {
			t.Errorf("what Prometheus might have known is given up: %v", err)
		}
	})
}

func TestTheOwnersThatWereReadComeWithTheError(t *testing.T) {
	t.Parallel()
	top := llamaChain()[1]
	for name, cause := range map[string]error{
		"may not be read": errors.New("the right to get vllmruntimes is missing"),
		"is not there":    fmt.Errorf("%w: VLLMRuntime llm/stack does not exist", incident.ErrNoWorkload),
		"nobody answered": &incident.UnansweredError{Err: errors.New("connection refused")},
	} {
		kube := fakeKube{
			owners: chains("llm/a", llamaChain()),
			above:  map[string]error{"llm/a": &cluster.UnfollowedError{After: top, Err: cause}},
		}
		c := newCollector(t, asking(newFakeProm(t).Serve()), kube)
		alert := map[string]string{"namespace": "llm", "pod": "a"}
		chain, trail, err := c.FindOwners(t.Context(), alert)
		unfollowed, ok := errors.AsType[*cluster.UnfollowedError](err)
		if !ok || unfollowed.After != top ||
			errors.Is(err, incident.ErrUnanswered) != errors.Is(cause, incident.ErrUnanswered) ||
			errors.Is(err, incident.ErrNoWorkload) != errors.Is(cause, incident.ErrNoWorkload) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(llamaChain(), chain); diff != "" || trail.Pod != "llm/a" {
			t.Errorf("%s: %+v\n%s", name, trail, diff)
		}
		if ref, _, err := c.FindWorkload(t.Context(), alert); err == nil || !ref.IsZero() {
			t.Errorf("%s: the top is guessed: %v, %v", name, ref, err)
		}
	}
}
