package playbooks

import (
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// before is a part of the pool's past: a range that ended so long ago, since when so much of the pool must still be
// there and no engine may have restarted.
type before struct {
	name, length, ago, since string
}

// pasts are the parts of the past that a value of now is compared with. Not the last half hour, which may be the
// trouble itself.
func pasts() []before {
	return []before{
		{"before", "30m", "30m", "1h"},
		{"longer", "30m", "1h", "90m"},
		{"earlier", "1h", "2h", "3h"},
		{"yesterday", "1h", "1d", "25h"},
	}
}

// atAsMuchLoad is a value as it was in a part of the past in which the pool did at least nine tenths of the work:
// output tokens, and prompt tokens that were not in the prefix cache, each per engine and second, for requests that
// were as long. Requests that run are no measure of it, because slower steps keep them for longer. Where an engine
// restarted or most are new since, there is no such past: another version, other arguments or another GPU are none.
// Nine tenths and requests at most a quarter longer are our starting values.
const atAsMuchLoad = `
label_replace(
  (VALUE)
  and sum(rate(vllm:generation_tokens_total[LENGTH] offset AGO)) / count(vllm:num_requests_running offset AGO)
  >= 0.9 * sum(rate(vllm:generation_tokens_total[$window])) / count(vllm:num_requests_running)
  and (sum(rate(vllm:prompt_tokens_total[LENGTH] offset AGO))
  - (sum(rate(vllm:prefix_cache_hits_total[LENGTH] offset AGO)) or vector(0)))
  / count(vllm:num_requests_running offset AGO)
  >= 0.9 * (sum(rate(vllm:prompt_tokens_total[$window]))
  - (sum(rate(vllm:prefix_cache_hits_total[$window])) or vector(0))) / count(vllm:num_requests_running)
  and (sum(rate(vllm:request_prompt_tokens_sum[LENGTH] offset AGO))
  + sum(rate(vllm:request_generation_tokens_sum[LENGTH] offset AGO)))
  / sum(rate(vllm:request_prompt_tokens_count[LENGTH] offset AGO))
  >= 0.8 * (sum(rate(vllm:request_prompt_tokens_sum[$window])) + sum(rate(vllm:request_generation_tokens_sum[$window])))
  / sum(rate(vllm:request_prompt_tokens_count[$window]))
  and count(vllm:num_requests_running and vllm:num_requests_running offset SINCE)
  >= 0.5 * count(vllm:num_requests_running)
  unless sum(resets(vllm:prompt_tokens_total[SINCE])) > 0,
  "time", "NAME", "", ""
)`

// pastQuery is the query of a signal's past at as much load: the lowest of its parts, because a past with the same
// trouble is no measure. The signal's own query must read nothing but rates over the window.
func pastQuery(of string) string {
	var parts []string
	value := strings.ReplaceAll(of, "["+windowToken+"]", "[LENGTH] offset AGO")
	then := strings.Replace(atAsMuchLoad, "VALUE", value, 1)
	for _, p := range pasts() {
		words := strings.NewReplacer("LENGTH", p.length, "AGO", p.ago, "SINCE", p.since, "NAME", p.name)
		parts = append(parts, words.Replace(then))
	}
	return "min(" + strings.Join(parts, "\nor ") + "\n)"
}

// onlyWindows says that a query reads series over the window and in no other way.
func (l *loader) onlyWindows(query string) bool {
	bare := strings.ReplaceAll(query, "["+windowToken+"]", "")
	expr, err := promql.Parse(strings.ReplaceAll(query, windowToken, l.window), parser.Options{})
	if bare == query || strings.Contains(bare, "$") || err != nil {
		return false
	}
	selectors, ranges := 0, 0
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch n.(type) {
		case *parser.VectorSelector:
			selectors++
		case *parser.MatrixSelector:
			ranges++
		}
		return nil
	})
	return selectors == ranges
}

// past reads a signal that is another one in the pool's own past.
func (l *loader) past(at strictyaml.Value, s signalDoc, out *incident.Signal) {
	at = at.Key("past")
	for _, doc := range l.docs {
		for _, other := range doc.Signals {
			if other.Name != s.Past {
				continue
			}
			switch {
			case !l.onlyWindows(other.Query):
				l.add(at.Problem("%q isn't made of rates over %s, so its past can't be asked for", s.Past, windowToken))
			case other.Unit != s.Unit:
				l.add(at.Problem("%q is in %s and this signal in %s", s.Past, other.Unit, s.Unit))
			default:
				out.Query = l.query(at, "", pastQuery(other.Query), nil)
			}
			return
		}
	}
	l.later = append(l.later, func() { l.knownSignal(at, s.Past) })
}
