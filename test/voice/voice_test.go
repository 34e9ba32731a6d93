package voice

import "testing"

func TestTheOldVoiceIsFound(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"2 mistakes in medic.yaml", "medic.yaml is sound.", "Beware: x", "A stop-gap stands.", "no answer means no",
		"and that means no.",
		"Restart it (for a person)", "👀 I watch and ask nothing for now.", "*Looking.* I read the metrics", "I'm away",
		"A person must look.",
		"no change in the last 10m0s", "waited 1h2m3s", "1.5 s, not 2m0.5s", "It failed..", `said "no".. then`,
		"At the last look: 2 of 3 ready.",
		"nothing can be turned", "as the rule demands: x", "What holds: the way back",
		"found to belong to the pool x, and gone on there",
		"nobody asks any more", "somebody else's pod", "who is told", "the rollout goes on", "a proxy beside the engine",
		"it closes by itself", "what is looked at", "weighed for every alert", "requests are thrown out of the cache",
		"instance in place of pod", "it fires all the same", "then by hand", "clients deployed lately", "starts anew",
		"Look again in 15 minutes.", "It is over when", "no client that goes away is counted", "first tokens come late",
		"the value of before", "half the present limit", "half again as long", "more than 5 wait on each engine",
		"utilisation", "relabelling", "it recognises", "time-outs", "Prometheus' engine",
		"KV cache 97 %", "97 % (limit 90%)", "usually 50 %; more",
	} {
		if len(Prose(text)) == 0 {
			t.Errorf("%q passes", text)
		}
	}
}

func TestTheVoiceOfTheFieldPasses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Monitoring. No action needed.", "Approve by 03:40. If no one responds, nothing changes.",
		"no change in the last 10 min",
		"Live. Metrics catching up; first check at 03:22.", "TTFT p95 7.8 s (target ≤ 300 ms)",
		"capped at 128 (max 50% per step)",
	} {
		for _, f := range Message(text) {
			t.Errorf("%q: %s", text, f)
		}
	}
	for _, text := range []string{
		"no change in the last 10 min", "The reader understands", "see ../docs and ../../x", "and so on...", "[0..3]",
		"Part I", "97%", "5 %d", "%s is %g%%",
		"Prometheus's engine", "read in 'Prometheus'", "GPUUnderutilised", "batch_utilisation", "the pods can be told apart",
		"besides Go", "a target of its own", "TTFT is over target", "The pool has recovered when", "add on",
		"vllm:num_requests_waiting", "I/O error", "for: 5m", "--for 1h30m", "./...", "git log a..b", "AI, UI and ID",
	} {
		for _, f := range Prose(text) {
			t.Errorf("%q: %s", text, f)
		}
	}
}

func TestMessagesNameNothingInternal(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]bool{
		"Can't rule out abort_spike":                        true,
		"Can't rule out an abort spike":                     false,
		"step p1-s2 is applied":                             true,
		"(needs: signals.kv_usage.value > 0.9)":             true,
		`needs: pods >= 2 && waiting`:                       true,
		"KV cache 97% (limit 90%)":                          false,
		"set --max-num-seqs=64 on Deployment llm/llama-70b": false,
		"queueing":   false,
		"≤ 300 ms":   false,
		"2 → 3 pods": false,
	} {
		if found := Message(text, "abort_spike", "queueing"); (len(found) > 0) != bad {
			t.Errorf("%q: %v", text, found)
		}
	}
}

func TestAFindingNamesItsLine(t *testing.T) {
	t.Parallel()
	found := Prose("fine\na mistake\n")
	if len(found) != 1 || found[0].String() != `line 2: "mistake": write "error"` {
		t.Errorf("%v", found)
	}
}
