package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// routed is the receivers that Alertmanager's own tool finds for an alert in the example.
func routed(t *testing.T, labels ...string) []string {
	t.Helper()
	args := append([]string{
		"config", "routes", "test", "--config.file",
		"../../deploy/prometheus/alertmanager.example.yml",
	}, labels...)
	out, err := exec.CommandContext(t.Context(), tools.Binary(t, "amtool"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("amtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), ",")
}

var alertLine = regexp.MustCompile(`(?m)^ *- alert: (\S+)$`)

// answered are the alerts that the built-in playbooks answer, and those of the shipped rules.
func answered(t *testing.T) []string {
	t.Helper()
	c, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range c.Playbooks() {
		out = append(out, p.Alerts...)
	}
	rules, err := filepath.Glob("../../deploy/prometheus/rules/*.yaml")
	if err != nil || len(rules) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	for _, path := range rules {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) == "vllm-medic.yaml" {
			continue // see TestTheExampleKeepsAlertsOnTheBotFromTheBot
		}
		for _, m := range alertLine.FindAllStringSubmatch(string(b), -1) {
			out = append(out, m[1])
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) < 40 {
		t.Fatalf("only %d alerts were found: %v", len(out), out)
	}
	return out
}

// The example is what people copy: an alert that it does not route is one that the medic never hears of, whatever its
// playbooks know.
func TestTheExampleRoutesEveryAlertThatAPlaybookAnswers(t *testing.T) {
	t.Parallel()
	for _, name := range answered(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := routed(t, "alertname="+name, "namespace=llm"); !slices.Contains(got, "vllm-medic") {
				t.Errorf("it goes to %v", got)
			}
		})
	}
}

// Alerts whose name other programs have too are the medic's only in the namespaces of the models; all others are not
// its business.
func TestTheExampleLeavesOtherAlertsAlone(t *testing.T) {
	t.Parallel()
	for _, labels := range [][]string{
		{"alertname=KubePodCrashLooping", "namespace=shop"},
		{"alertname=KubePodNotReady"},
		{"alertname=HighErrorRate", "namespace=shop"},
		{"alertname=HighE2ELatency", "namespace=llm-shop"},
		{"alertname=NodeDiskFull", "namespace=llm"},
		{"alertname=Watchdog"},
	} {
		t.Run(strings.Join(labels, ","), func(t *testing.T) {
			t.Parallel()
			if got := routed(t, labels...); slices.Contains(got, "vllm-medic") {
				t.Errorf("it goes to %v", got)
			}
		})
	}
}

// It can't tell that it is down.
func TestTheExampleKeepsAlertsOnTheBotFromTheBot(t *testing.T) {
	t.Parallel()
	own := alertLine.FindAllStringSubmatch(read(t, "deploy/prometheus/rules/vllm-medic.yaml"), -1)
	if len(own) < 5 {
		t.Fatalf("only %d alerts were found", len(own))
	}
	for _, m := range own {
		if got := routed(t, "alertname="+m[1], "namespace=llm"); slices.Contains(got, "vllm-medic") {
			t.Errorf("%s goes to %v", m[1], got)
		}
	}
}

// One that only vLLM's alerts have is routed without the label, as aggregating rules fire it.
func TestTheExampleRoutesVLLMsAlertsWithoutANamespace(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"vLLMHighTTFT", "HighTTFT", "NixlTransferFailing"} {
		if got := routed(t, "alertname="+name); !slices.Contains(got, "vllm-medic") {
			t.Errorf("%s goes to %v", name, got)
		}
	}
}
