package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// Prometheus and Kubernetes are asked for real in test/scenarios/testdata/0017_check_live.txtar.
func TestLiveAsksSlackForTheAppAndItsChannels(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, team, channel, token string
		good                       int
		want                       string
	}{
		{"all is well", "", "C0INCIDENTS", "", 3, "can be read"},
		{"another workspace", "T0OTHER", "C0INCIDENTS", "", 0, "slack.team says T0OTHER"},
		{"no such channel", "", "C0NOWHERE1", "", 2, "channel_not_found: Check the channel id"},
		{"a wrong token", "", "C0INCIDENTS", "xoxb-not-this-one", 0, "invalid_auth: The bot token is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := fakeslack.Start(t, fakeslack.Options{})
			if strings.HasPrefix(tc.want, "invalid_auth") {
				s.ExpectError("auth.test", "invalid_auth", 1)
			}
			if strings.HasPrefix(tc.want, "channel_not_found") {
				s.ExpectError("conversations.history", "channel_not_found", 1)
			}
			found := live(t, s, tc.team, tc.channel, tc.token)
			good, text := 0, fmt.Sprint(found)
			for _, f := range found {
				if f.Good {
					good++
				}
			}
			if good != tc.good || !strings.Contains(text, tc.want) {
				t.Errorf("%d good ones, want %d: %+v", good, tc.good, found)
			}
			if strings.Contains(text, s.Token()) || strings.Contains(text, "xoxb-") {
				t.Errorf("the token shows: %s", text)
			}
			if n := len(s.CallsTo("chat.postMessage")); n > 0 {
				t.Errorf("a check posted %d messages", n)
			}
		})
	}
}

// liveOptions ask this Slack, a Prometheus that does not answer, and what more says.
func liveOptions(t *testing.T, s *fakeslack.Server, team, channel, token, more string) app.Options {
	t.Helper()
	cat, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if team == "" {
		team = fakeslack.TeamID
	}
	env := map[string]string{"TOKEN": s.Token(), "SECRET": s.SigningSecret()}
	if token != "" {
		env["TOKEN"] = token
	}
	path := filepath.Join(t.TempDir(), "medic.yaml")
	text := fmt.Sprintf(`
listen: {api: "127.0.0.1:0"}
prometheus: {url: "http://127.0.0.1:1", timeout: 1s, deadline: 2s}
slack: {mode: http, channel: %s, team: %s, app_id: A0FAKE, token_env: TOKEN, signing_secret_env: SECRET, api_url: "%s"}
pools: [{name: llama, match: {model_name: llama}, matchers: {model_name: llama}}]
%s`, channel, team, s.APIURL(), more)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path,
		config.Options{Profiles: cat, Getenv: func(k string) (string, bool) { v, ok := env[k]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	return app.Options{Config: cfg, Catalog: cat, Logger: slog.New(slog.DiscardHandler)}
}

// live is what Live says of Slack with this configuration.
func live(t *testing.T, s *fakeslack.Server, team, channel, token string) []app.Finding {
	t.Helper()
	found, err := app.Live(context.WithoutCancel(t.Context()), liveOptions(t, s, team, channel, token, ""))
	if err != nil {
		t.Fatal(err)
	}
	var out []app.Finding
	for _, f := range found {
		if strings.HasPrefix(f.Where, "slack") {
			out = append(out, f)
		} else if f.Good {
			t.Errorf("a Prometheus that does not answer is good: %+v", f)
		}
	}
	return out
}

// Outside of a pod, with a configuration that is made for one, Kubernetes cannot be asked. The others still are.
func TestLiveAsksTheOthersWhenThereIsNoCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	s := fakeslack.Start(t, fakeslack.Options{})
	opts := liveOptions(t, s, "", "C0INCIDENTS", "", "kubernetes: {}\nmode: approve\n")
	found, err := app.Live(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]app.Finding{}
	for _, f := range found {
		said[f.Where] = f
	}
	if f := said["kubernetes"]; f.Good || f.Unasked || !strings.Contains(f.Text, "not in a cluster") ||
		!strings.Contains(f.Text, "KUBECONFIG") {
		t.Errorf("Kubernetes: %+v", f)
	}
	if f := said["slack"]; !f.Good {
		t.Errorf("Slack was not asked: %+v", found)
	}
	if f, asked := said["prometheus, pool llama"]; !asked || f.Good || !strings.Contains(f.Text, "refused") {
		t.Errorf("Prometheus was not asked: %+v", found)
	}
}

// A kubeconfig of whoever runs the command is taken where there is no pod, and only by commands that read.
func TestLiveTakesTheKubeconfigOfTheShell(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	s := fakeslack.Start(t, fakeslack.Options{})
	opts := liveOptions(t, s, "", "C0INCIDENTS", "", "kubernetes: {}\nmode: approve\n")
	opts.Kubeconfig = filepath.Join(t.TempDir(), "none") + string(filepath.ListSeparator) + filepath.Join("testdata",
		"kubeconfig.yaml")
	found, err := app.Live(t.Context(), opts)
	if err != nil || strings.Contains(fmt.Sprint(found), "not in a cluster") {
		t.Errorf("%v %+v", err, found)
	}
	if _, err := app.KubernetesConfig(opts.Config); err == nil {
		t.Error("the bot takes the shell's kubeconfig too")
	}
	opts.Kubeconfig = filepath.Join(t.TempDir(), "none")
	if found, err = app.Live(t.Context(), opts); err != nil || !strings.Contains(fmt.Sprint(found), "KUBECONFIG names") {
		t.Errorf("%v %+v", err, found)
	}
}
