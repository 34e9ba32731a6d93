package promtest_test

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/test/promtest"
)

func TestARealPrometheusScrapesAndEvaluates(t *testing.T) {
	t.Parallel()
	e := promtest.NewExporter(t, "vllm:num_requests_running{model_name=\"m\"} 3\n")
	p := promtest.StartWith(t, promtest.Options{
		Targets: []promtest.Target{{Address: e.Address(), Labels: map[string]string{"namespace": "llm", "pod": "m-0"}}},
		Rules: []string{"groups: [{name: g, rules: [{record: twice, expr: 'vllm:num_requests_running * 2'}, {alert: A, " +
			"expr: 'twice > 100'}]}]"},
	})
	p.WaitFor(t, `up{job="vllm",namespace="llm",pod="m-0",instance="`+e.Address()+`"} == 1`)
	p.WaitFor(t, `twice{model_name="m"} == 6`)
	e.Set("vllm:num_requests_running{model_name=\"m\"} 70\n")
	p.WaitFor(t, `ALERTS{alertname="A",alertstate="firing"}`)
	e.Fail()
	p.WaitFor(t, `absent(vllm:num_requests_running)`)
	p.Stop()
	p.Stop()
}

func TestAPrometheusWithoutTargetsIsReady(t *testing.T) {
	t.Parallel()
	promtest.WaitFor(t, promtest.Start(t, nil), "vector(1)")
}
