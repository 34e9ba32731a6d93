// Package drill has what exercises of the people on call can play: alerts with recorded readings, which are those of
// the tests of the built-in playbooks. Everything else of a drill is the bot's own.
package drill

import (
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// source is a scenario with the test that it is recorded in.
type source struct {
	incident.Scenario

	file, test string
}

// all are the scenarios, by how often they come in real life.
var all = []source{
	{
		incident.Scenario{
			Name: "queue", Plays: "Requests queue because the pool is at capacity", Expected: "queueing",
			Alerts: alert("vLLMQueueBacklog", "Requests are queuing"),
		},
		"queue-backlog.yaml", "a queue at capacity is queueing, in every spelling",
	},
	{
		incident.Scenario{
			Name: "full-cache", Plays: "The KV cache is full and requests wait", Expected: "at-capacity",
			Alerts: alert("vLLMGPUCacheFull", "GPU KV cache is nearly full"),
		},
		"kv-cache-full.yaml", "a full cache and waiting requests are a pool at capacity",
	},
	{
		incident.Scenario{
			Name: "preemption", Plays: "Running requests are preempted because the KV cache is full",
			Expected: "kv-thrash", Alerts: alert("vLLMRequestSwapping", "Preemptions: the KV cache is full"),
		},
		"preemption.yaml", "preemptions with a full cache are thrashing, and explain the queue and slow tokens",
	},
	{
		incident.Scenario{
			Name: "long-prompts", Plays: "Long prompts saturate the pool and others wait behind them",
			Expected: "prefill-saturation", Alerts: alert("vLLMHighTTFT", "High TTFT"),
		},
		"high-ttft.yaml", "a queue behind prompts with a cache that is far from full is prefill saturation",
	},
	{
		incident.Scenario{
			Name: "slow-tokens", Plays: "Tokens are slow because the batch is too large", Expected: "big-decode-batch",
			Alerts: alert("vLLMHighTPOT", "High TPOT"),
		},
		"high-tpot.yaml", "every token is late because the batch is too large",
	},
	{
		incident.Scenario{
			Name: "restart", Plays: "Prompts take long to prefill; the fix restarts pods and needs a confirmation",
			Expected: "long-prefill", Alerts: alert("vLLMHighTTFT", "High TTFT"),
		},
		"high-ttft.yaml", "long prefill without a queue",
	},
	{
		incident.Scenario{
			Name: "client-timeouts", Plays: "Clients give up on an overloaded pool", Expected: "client-timeouts",
			Alerts: alert("vLLMHighAbortRate", "Abandoned requests: clients seem to give up"),
		},
		"abort-spike.yaml", "clients that leave an overloaded pool are timeouts, although vLLM doesn't count them",
	},
}

func alert(name, summary string) []incident.ScenarioAlert {
	return []incident.ScenarioAlert{{Name: name, Severity: "warning", Summary: summary}}
}

// List returns the scenarios, in the order in which people should read them.
func List() []incident.Scenario {
	out := make([]incident.Scenario, len(all))
	for n, s := range all {
		out[n] = s.Scenario
		out[n].Alerts = slices.Clone(s.Alerts)
	}
	return out
}

func find(name string) (source, bool) {
	n := slices.IndexFunc(all, func(s source) bool { return s.Name == name })
	if n < 0 {
		return source{}, false
	}
	return all[n], true
}
