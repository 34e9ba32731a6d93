package slack

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// appManifest is what Slack's manifest schema has, as far as ours uses it; anything else in the file is an error.
type appManifest struct {
	Metadata struct {
		Major int `yaml:"major_version"`
	} `yaml:"_metadata"`
	Display struct {
		Name       string `yaml:"name"`
		About      string `yaml:"description"`
		Background string `yaml:"background_color"`
	} `yaml:"display_information"`
	Features struct {
		Bot struct {
			Name   string `yaml:"display_name"`
			Online bool   `yaml:"always_online"`
		} `yaml:"bot_user"`
		Commands []struct {
			Command string `yaml:"command"`
			URL     string `yaml:"url"`
			About   string `yaml:"description"`
			Usage   string `yaml:"usage_hint"`
			Escape  bool   `yaml:"should_escape"`
		} `yaml:"slash_commands"`
	} `yaml:"features"`
	OAuth struct {
		Scopes struct {
			Bot      []string `yaml:"bot"`
			Optional []string `yaml:"bot_optional"`
		} `yaml:"scopes"`
	} `yaml:"oauth_config"`
	Settings struct {
		Interactivity struct {
			On  bool   `yaml:"is_enabled"`
			URL string `yaml:"request_url"`
		} `yaml:"interactivity"`
		Org      bool `yaml:"org_deploy_enabled"`
		Socket   bool `yaml:"socket_mode_enabled"`
		Rotation bool `yaml:"token_rotation_enabled"`
	} `yaml:"settings"`
}

// manifests are the files, by transport.
func manifests() map[string]string {
	return map[string]string{
		"socket": "../../deploy/slack/manifest-socket.yaml", "http": "../../deploy/slack/manifest-http.yaml",
	}
}

func readManifest(t *testing.T, transport string) appManifest {
	t.Helper()
	raw, err := os.ReadFile(manifests()[transport])
	if err != nil {
		t.Fatal(err)
	}
	var m appManifest
	if err := yaml.Load(raw, &m, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifestKeepsSlacksLimits(t *testing.T) {
	t.Parallel()
	for transport := range manifests() {
		m := readManifest(t, transport)
		if len(m.Display.Name) > 35 || len(m.Display.About) > 140 || len(m.Features.Bot.Name) > 80 || m.Metadata.Major != 1 {
			t.Errorf("%s: display: %+v, bot: %+v", transport, m.Display, m.Features.Bot)
		}
		url := ""
		if transport == "http" {
			url = "https://vllm-medic.example.com/api/v1/slack/interactions"
		}
		if c := m.Features.Commands; len(c) != 1 || c[0].Command != CommandName || c[0].URL != url || c[0].Escape {
			t.Errorf("%s: commands: %+v", transport, c)
		}
		if !m.Settings.Interactivity.On || m.Settings.Interactivity.URL != url ||
			m.Settings.Socket != (transport == "socket") || m.Settings.Rotation || m.Settings.Org {
			t.Errorf("%s: settings: %+v", transport, m.Settings)
		}
		for _, s := range m.OAuth.Scopes.Optional {
			if !slices.Contains(m.OAuth.Scopes.Bot, s) {
				t.Errorf("%s: the optional scope %s is not among the scopes", transport, s)
			}
		}
	}
	if d := cmp.Diff(readManifest(t, "http").OAuth, readManifest(t, "socket").OAuth); d != "" {
		t.Errorf("the scopes depend on the transport (-http +socket):\n%s", d)
	}
}

// TestManifestAsksForTheScopesThatTheCodeUsesAndNoOther makes every call with exactly the manifest's scopes, and then
// shows for each scope that something fails without it. The scope commands is for what Slack sends, not for a call.
func TestManifestAsksForTheScopesThatTheCodeUsesAndNoOther(t *testing.T) {
	t.Parallel()
	scopes := readManifest(t, "socket").OAuth.Scopes.Bot
	for name, err := range everyCall(t, scopes) {
		if err != nil {
			t.Errorf("%s with the manifest's scopes: %v", name, err)
		}
	}
	for _, without := range slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == "commands" }) {
		rest := slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == without })
		if !slices.ContainsFunc(slices.Collect(maps.Values(everyCall(t, rest))), func(err error) bool { return err != nil }) {
			t.Errorf("everything works without %s: it is not needed", without)
		}
	}
}

// everyCall makes each kind of call that the package makes.
func everyCall(t *testing.T, scopes []string) map[string]error {
	t.Helper()
	o := fakeslack.Options{
		Scopes: scopes, AllowUnexpected: true,
		Channels: []fakeslack.Channel{{ID: channel}, {ID: "C0PRIVATE", Private: true}},
	}
	w := newWorkspace(t, o)
	inc := tell(t, incident.ModeApprove, "llama").inc
	out := map[string]error{}
	for _, ch := range []string{channel, "C0PRIVATE"} {
		ts, err := w.notifier.Post(t.Context(), ch, inc)
		out["post in "+ch] = err
		if err != nil {
			continue
		}
		out["update in "+ch] = w.notifier.Update(t.Context(), ch, ts, inc)
		out["reply in "+ch] = w.notifier.Reply(t.Context(), ch, ts, inc, incident.Entry{Seq: 1, Text: "x"})
		_, _, out["find in "+ch] = w.notifier.FindPosted(t.Context(), ch, "", inc.ID, 0, time.Now().Add(-time.Minute))
		_, _, out["find reply in "+ch] = w.notifier.FindPosted(t.Context(), ch, ts, inc.ID, 1, time.Now().Add(-time.Minute))
	}
	_, out["account"] = w.client.account(t.Context(), "U0ALICE")
	g := groups{client: w.client, ttl: time.Minute}
	_, out["group"] = g.members(t.Context(), "S0ONCALL")
	_, out["check"] = w.client.Check(t.Context())
	return out
}
