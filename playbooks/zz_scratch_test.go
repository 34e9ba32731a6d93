package playbooks_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/test/fakevllm"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

func TestScratch(t *testing.T) {
	c := builtin(t, playbooks.Options{Window: 10 * time.Second})
	for _, sc := range fakevllm.Scenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			targets := filepath.Join(t.TempDir(), "vllm.json")
			s := fakevllm.Start(t, fakevllm.Options{Scenario: "healthy", Replicas: 2, Speed: 30, TargetsFile: targets})
			p := promtest.StartWith(t, promtest.Options{TargetsFiles: []string{targets}})
			p.WaitFor(t, `sum(rate(vllm:prompt_tokens_total[10s])) > 0`)
			time.Sleep(12 * time.Second)
			col, err := evidence.New(evidence.Config{URL: p.URL}, nil, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			pool := incident.Pool{Name: "x", Matchers: map[string]string{"model_name": "llama-70b"}}
			look := func(label string) {
				ev := col.Collect(context.Background(), pool, c.AllSignals(), evidence.CollectOptions{})
				var parts []string
				for n, r := range ev.Readings {
					parts = append(parts, n+"="+r.Text())
				}
				sort.Strings(parts)
				fmt.Println("##", sc.Name, label, strings.Join(parts, " "))
				for _, al := range []string{"vLLMHighTTFT", "vLLMQueueBacklog", "vLLMRequestSwapping", "vLLMGPUCacheFull", "vLLMHighAbortRate", "vLLMHighTPOT", "LowThroughput", "vLLMNotServing"} {
					r := c.Diagnose(playbooks.Input{Alerts: alerts(al), Pool: pool, Evidence: ev})
					fmt.Printf("      %-20s %-24s healthy=%s %s\n", al, nameOf(r.Diagnosis), r.Healthy, r.Note)
				}
			}
			look("before")
			if err := s.Fleet.SetScenario(sc.Name); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				time.Sleep(10 * time.Second)
				look(fmt.Sprint((i+1)*10, "s"))
			}
		})
	}
}
