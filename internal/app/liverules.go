package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/vllm-medic/vllm-medic/internal/alertrules"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
)

// RuleFinding is what is to be told of one alert rule.
type RuleFinding struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	// Never says that the rule can never fire, for the reasons in Why.
	Never bool     `json:"never"`
	Why   []string `json:"why,omitempty"`
	// Instead is the corrected expression, in lines; empty when there is none. About says how it differs, or why there
	// is none.
	Instead string   `json:"instead,omitempty"`
	About   []string `json:"about,omitempty"`
	// Notes are what to know of the rule, or of Instead.
	Notes []string `json:"notes,omitempty"`
}

// liveRules asks Prometheus for its alert rules and judges those that concern vLLM.
func liveRules(ctx context.Context, c *evidence.Collector) Finding {
	f := Finding{Where: "prometheus, alert rules"}
	rules, scraped, err := c.ExamineAlertRules(ctx)
	switch {
	case errors.Is(err, prometheus.ErrNoRules):
		f.Unasked, f.Text = true, err.Error()+". The rules were not checked"
		return f
	case err != nil && len(rules) == 0:
		f.Text = err.Error()
		return f
	case err != nil:
		f.Text = fmt.Sprintf("%s loaded, but their metrics could not be checked: %v", vllmRules(len(rules)), err)
		return f
	case len(rules) == 0:
		f.Unasked, f.Text = true,
			"no vLLM alert rule is loaded here; deploy/prometheus/rules has some. A ruler elsewhere may have others"
		return f
	case !scraped:
		f.Text = fmt.Sprintf("%s loaded, and no vLLM metric in the last 24 h: none can fire until Prometheus scrapes "+
			"the servers", vllmRules(len(rules)))
		return f
	}
	never := 0
	for _, r := range rules {
		told, worth := ruleFinding(r)
		if told.Never {
			never++
		}
		if worth {
			f.Rules = append(f.Rules, told)
		}
	}
	f.Good, f.Text = never == 0, fmt.Sprintf("%s loaded, %d can never fire", vllmRules(len(rules)), never)
	return f
}

// ruleFinding is what is to be told of a rule; worth is false when there is nothing.
func ruleFinding(r evidence.ExaminedRule) (f RuleFinding, worth bool) {
	v := r.Verdict
	f = RuleFinding{Name: r.Name, Group: r.Group, Never: v.State == alertrules.Never, Notes: v.Notes}
	switch {
	case f.Never:
		f.Why, f.About = v.Why, v.About
		if v.Instead != "" {
			f.Instead = alertrules.Pretty(v.Instead)
		}
	case v.State == alertrules.Undecided && len(v.Why) > 0:
		f.Notes = append([]string{"not known whether it can fire: " + v.Why[0]}, f.Notes...)
	}
	if r.Health == "err" {
		f.Notes = append(f.Notes, "Prometheus cannot evaluate it: "+r.LastError)
	}
	return f, f.Never || len(f.Notes) > 0
}

func vllmRules(n int) string {
	if n == 1 {
		return "1 vLLM alert rule"
	}
	return fmt.Sprintf("%d vLLM alert rules", n)
}
