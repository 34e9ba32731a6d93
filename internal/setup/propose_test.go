package setup

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func stepOf(from string, w incident.Worked, guards ...incident.Guardrail) *incident.Step {
	return &incident.Step{
		Target: incident.Target{Kind: "Deployment", Namespace: "llm", Name: "a", Field: "spec.replicas (scale)"},
		From:   incident.Set(from), Worked: &w, Guardrails: guards,
	}
}

func refused(why string, cause incident.RefusalCause, w *incident.Worked) *incident.RefusedError {
	return &incident.RefusedError{Reason: why, Hint: "Do this.", Cause: cause, Worked: w}
}

// outcome is what a test compares of a knob.
func outcome(k Knob) string {
	text := "none"
	if k.Value != nil {
		text = k.Value.text()
	}
	if !k.Sure {
		text += " off"
	}
	if k.Question != "" {
		text += " asks"
	}
	return text
}

func TestReplicasAreBoundByWhatStands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		answer      KnobAnswer
		want, words string
	}{
		{
			"nobody else",
			KnobAnswer{Step: stepOf("3", incident.Worked{From: 3, Max: Most})},
			"{min: 3, max: 6} asks",
			"3 replicas now (spec.replicas (scale) of Deployment llm/a)",
		},
		{
			"an autoscaler", KnobAnswer{
				Step: stepOf("1", incident.Worked{From: 4, Max: 9, MaxWhy: "spec.maxReplicas of HorizontalPodAutoscaler a"}),
			}, "{min: 1, max: 9}", "the maximum is spec.maxReplicas",
		},
		{
			"an autoscaler at its maximum",
			KnobAnswer{Refused: refused("already at the limit", incident.CauseNow,
				&incident.Worked{From: 9, Max: 9, MaxWhy: "spec.maxReplicas of HorizontalPodAutoscaler a"})},
			"{min: 9, max: 9}", "9 replicas now: Already at the limit.",
		},
		{
			"an operator above",
			KnobAnswer{Step: stepOf("1", incident.Worked{From: 1, Max: Most},
				incident.Guardrail{Name: "ownership", Verdict: incident.GuardRefuse, Reason: "it belongs to X"})},
			"none off", "It belongs to X.",
		},
		{"refused", KnobAnswer{Refused: refused("several", "", nil)}, "none off", "Several. Do this."},
		{"not asked", KnobAnswer{Failed: "timeout"}, "none off", "It could not be asked: timeout"},
		{
			"asleep",
			KnobAnswer{Refused: refused("it has 0 replicas", incident.CauseNow, nil)},
			"none off",
			"It has 0 replicas.",
		},
		{
			"GitOps",
			KnobAnswer{
				Owner: "Argo CD application x manages it",
				Step:  stepOf("2", incident.Worked{From: 2, Max: Most}),
			},
			"{min: 2, max: 4} asks", "Argo CD application x manages it.",
		},
	} {
		tt.answer.Kind = incident.StepReplicas
		k := replicasKnob(tt.answer)
		if got := outcome(k); got != tt.want || !strings.Contains(k.Why, tt.words) {
			t.Errorf("%s: %s, %q", tt.name, got, k.Why)
		}
	}
}

// The bot may change no autoscaler but the one that is named, so the one that was found is.
func TestTheAutoscalerThatWasFoundIsNamed(t *testing.T) {
	t.Parallel()
	for want, found := range map[string]incident.AutoscalerRef{
		"    autoscaler: {kind: ScaledObject, name: llama-70b}\n": {Kind: "ScaledObject", Name: "llama-70b"},
		"    autoscaler: {kind: ScaledObject, name: \"123\"}\n":   {Kind: "ScaledObject", Name: "123"},
		"": {},
	} {
		p := Pool{Name: "a", Autoscaler: found}
		p.Matchers.Sure, p.Match.Sure = true, true
		text := string(Write(Proposal{Pools: []Pool{p}}))
		if !strings.Contains(text, want) || (want == "") == strings.Contains(text, "autoscaler:") {
			t.Errorf("%v:\n%s", found, text)
		}
	}
}

func TestArgumentsAreBoundByTheirValue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer KnobAnswer
		want   string
	}{
		{"given", KnobAnswer{Step: stepOf("8192", incident.Worked{From: 8192, Min: 1})}, "{min: 2048, max: 16384}"},
		{
			"vLLM needs more", KnobAnswer{
				Step: stepOf("8192", incident.Worked{From: 8192, Min: 4096, MinWhy: "set by --max-model-len"}),
			}, "{min: 4096, max: 16384}",
		},
		{
			"only upwards", KnobAnswer{Step: stepOf("2048", incident.Worked{From: 2048, Up: true})}, "{min: 512, max: 4096}",
		},
		{
			"a default that a person has to confirm",
			KnobAnswer{
				Refused: refused("it is not given", "", nil), Worked: &incident.Worked{From: 8192},
				Assumed: &incident.ArgumentKnob{Default: 8192, ChunkedPrefill: new(true)},
			},
			"{min: 2048, max: 16384, default: 8192, chunked_prefill: true} off asks",
		},
		{
			"chunked prefill that a person has to confirm", KnobAnswer{
				Refused: refused("it is not known", "", nil), Worked: &incident.Worked{From: 4096, Min: 2048},
				Assumed: &incident.ArgumentKnob{ChunkedPrefill: new(true)},
			}, "{min: 2048, max: 8192, chunked_prefill: true} off asks",
		},
		{"a script", KnobAnswer{Refused: refused("a shell script", "", nil)}, "none off"},
	} {
		tt.answer.Kind = incident.StepMaxNumBatchedTokens
		if got := outcome(argumentKnob(tt.answer)); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

func TestAThrottleIsOnlyProposedWhereItIsCertain(t *testing.T) {
	t.Parallel()
	limit := func(name string) incident.ThrottleKnob {
		return incident.ThrottleKnob{Kind: "envoy-gateway", Namespace: "llm", Name: name, Field: "maxParallelRequests"}
	}
	sure := func(name string) KnobAnswer {
		return KnobAnswer{Throttle: limit(name), Step: stepOf("256", incident.Worked{From: 256})}
	}
	wide := sure("wide")
	wide.Step.Guardrails = []incident.Guardrail{{Name: "target", Verdict: incident.GuardCaution, Reason: "all of them"}}
	other := KnobAnswer{Throttle: limit("other"), Refused: refused("it is for another route", "", nil)}
	own := "{kind: envoy-gateway, namespace: llm, name: own, field: maxParallelRequests, min: 32, max: 256}"
	for _, tt := range []struct {
		name string
		all  []KnobAnswer
		want string
	}{
		{"its own", []KnobAnswer{other, wide, sure("own")}, own},
		{"two", []KnobAnswer{sure("own"), sure("too")}, own + " off asks"},
		{"one for a whole gateway", []KnobAnswer{wide}, strings.ReplaceAll(own, "name: own", "name: wide") + " off asks"},
	} {
		k, found := throttleKnob(tt.all)
		if got := outcome(k); !found || got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	if _, found := throttleKnob(nil); found {
		t.Error("no limit, and a throttle")
	}
}

func TestTargetsAreTheUsualOnesUnlessTheLastDayMissedThem(t *testing.T) {
	t.Parallel()
	profiles := func(truths map[string]incident.Truth) []Profile {
		var out []Profile
		for name, ttft := range map[string]float64{"completion": .2, "chat": .5, "rag": 1, "batch": 5} {
			out = append(out, Profile{
				SLO:     incident.SLO{Profile: name, TTFT: ttft},
				Targets: []incident.Condition{{Label: "TTFT p95", Seen: "700 ms", Truth: truths[name]}},
			})
		}
		return out
	}
	all := func(truth incident.Truth) map[string]incident.Truth {
		return map[string]incident.Truth{"completion": truth, "chat": truth, "rag": truth, "batch": truth}
	}
	for _, tt := range []struct {
		name   string
		truths map[string]incident.Truth
		unread string
		want   string
		asks   bool
	}{
		{"met", all(incident.True), "", "chat", false},
		{"no traffic", all(incident.Undecided), "", "chat", false},
		{"not read", all(incident.Undecided), "timeout", "chat", false},
		{"missed", all(incident.False), "", "chat", true},
		{"missed by one", map[string]incident.Truth{
			"completion": incident.False, "chat": incident.False, "rag": incident.True, "batch": incident.True,
		}, "", "rag", true},
	} {
		g := profileOf(profiles(tt.truths), tt.unread)
		if g.Value != tt.want || !g.Sure || (g.Question != "") != tt.asks || g.Why == "" {
			t.Errorf("%s: %+v", tt.name, g)
		}
	}
}

func TestTheAddressOfPrometheusIsThatInTheCluster(t *testing.T) {
	t.Parallel()
	const service = "http://prometheus-operated.monitoring.svc:9090"
	for _, tt := range []struct {
		name string
		p    Prometheus
		want string
		asks bool
	}{
		{"given", Prometheus{Asked: true, URL: "https://prom.example.com"}, "https://prom.example.com", false},
		{
			"a port-forward",
			Prometheus{Asked: true, URL: "http://localhost:9090", Services: []string{service}},
			service,
			false,
		},
		{
			"a port-forward to one of two",
			Prometheus{Asked: true, URL: "http://127.0.0.1:9090", Services: []string{service, "http://other"}},
			service, true,
		},
		{"a port-forward and no Service", Prometheus{Asked: true, URL: "http://[::1]:9090"}, "http://[::1]:9090", true},
		{"not asked", Prometheus{Services: []string{service}}, service, false},
		{"nothing known", Prometheus{}, service, true},
	} {
		g := prometheusOf(Found{Prometheus: tt.p})
		if g.Value != tt.want || (g.Question != "") != tt.asks {
			t.Errorf("%s: %+v", tt.name, g)
		}
	}
}

func TestNothingIsProposedWithoutAPool(t *testing.T) {
	t.Parallel()
	f := Found{Kubernetes: Kubernetes{Asked: true}, Servers: []Server{
		{Namespace: "llm", Pod: "a-0"}, server("b-0", deployment("b")),
	}}
	candidates, notes := Candidates(f)
	_, err := Propose(f, candidates, make([]Answers, len(candidates)), notes)
	if nothing := new(NothingError); !errors.As(err, &nothing) || !strings.Contains(err.Error(), "a-0") {
		t.Errorf("%v", err)
	}
}

// Names come from labels, which may be anything.
func TestNoNameBreaksTheFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"llama-70b": "llama-70b", "meta-llama/Llama-3.1-8B": "meta-llama/Llama-3.1-8B", "true": `"true"`, "": `""`,
		"1e3": `"1e3"`, "a: b #c": `"a: b #c"`, "a\nb": `"a\nb"`, "\x7f\u0085": `"\u007f\u0085"`, "{": `"{"`,
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	w := &writer{}
	w.say(2, "a\npools: []\u2028b \x1b[2J")
	if d := cmp.Diff("  # a pools: [] b [2J\n", w.buf.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAnswersOfAPersonAreSettings(t *testing.T) {
	t.Parallel()
	p := Proposal{
		Prometheus: Guess[string]{Value: "http://p", Others: []string{"http://q"}},
		Connection: Prometheus{Headers: map[string]string{"X-Scope-OrgID": "llm"}, Connection: []string{"--token-file"}},
		Given: Given{
			SlackChannel: "C0123456789", SlackTeam: "T0123456789", SlackApp: "A0123456789",
			Approvers: []string{"U0123456789", "S0123456789"}, WebhookTokenFile: "/etc/am-token",
		},
	}
	text := string(Write(p))
	for _, want := range []string{
		"\nslack:\n  mode: socket\n  channel: C0123456789\n  team: T0123456789\n  app_id: A0123456789\n",
		"\napprovers: {default: {users: [U0123456789], groups: [S0123456789]}}\n",
		"\nalertmanager:\n  auth: {bearer_token_file: /etc/am-token}\n", "\n  headers: {X-Scope-OrgID: llm}\n",
		"  # Question: Where are the bot's own credentials and certificates? These flags were used: --token-file.",
		"\n  # url: \"http://q\"\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	values := string(WriteValues(p))
	for want, has := range map[string]bool{
		"alertmanager:": false, "listen:": false, "\nconfig:\n  mode: dry-run\n": true, "\n  slack:\n    mode: socket": true,
	} {
		if strings.Contains(values, want) != has {
			t.Errorf("%q, want %t, in\n%s", want, has, values)
		}
	}
}

// The values are for a bot in a pod, where an address of this machine leads nowhere; a medic.yaml may be for this
// machine.
func TestValuesNeverHoldAnAddressOfThisMachine(t *testing.T) {
	t.Parallel()
	p := Proposal{Prometheus: prometheusOf(Found{Prometheus: Prometheus{Asked: true, URL: "http://127.0.0.1:9090"}})}
	const here, there = `url: "http://127.0.0.1:9090"`, `url: "http://prometheus-operated.monitoring.svc:9090"`
	if text := string(Write(p)); !strings.Contains(text, here) {
		t.Errorf("medic.yaml:\n%s", text)
	}
	values := string(WriteValues(p))
	if strings.Contains(values, here) || !strings.Contains(values, there) || Questions([]byte(values)) == 0 {
		t.Errorf("values:\n%s", values)
	}
}

func TestTheBotIsInstalledNextToItsModels(t *testing.T) {
	t.Parallel()
	const plain = "helm upgrade --install vllm-medic deploy/helm/vllm-medic --values values.yaml"
	series := func(namespace string) Pool {
		return Pool{Matchers: Guess[map[string]string]{Value: map[string]string{"namespace": namespace}}}
	}
	workload := func(namespace string) Pool {
		return Pool{Workload: Guess[incident.WorkloadRef]{Value: incident.WorkloadRef{Namespace: namespace}}}
	}
	for name, tt := range map[string]struct {
		pools []Pool
		want  string
	}{
		"one namespace": {
			[]Pool{series("llm"), workload("llm")},
			"helm upgrade --install vllm-medic deploy/helm/vllm-medic --namespace llm --values values.yaml",
		},
		"several":         {[]Pool{series("llm"), workload("rag"), series("rag")}, plain},
		"one isn't known": {[]Pool{series("llm"), {}}, plain},
		"none is known":   {[]Pool{{}}, plain},
		"no pools":        {nil, plain},
	} {
		if got := Install(Proposal{Pools: tt.pools}, "values.yaml"); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	p := Proposal{Pools: []Pool{series("llm")}}
	if values := string(WriteValues(p)); !strings.Contains(values, "\n#   "+Install(p, "FILE")+"\n") {
		t.Errorf("the values don't say how to install them:\n%s", values)
	}
}
