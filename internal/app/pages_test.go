package app_test

import (
	"strings"
	"testing"
)

// What doesn't work is on the page of the bot, and no secret is.
func TestThePagesSayWhatDoesNotWork(t *testing.T) {
	t.Parallel()
	a := start(t)
	api := "http://" + a.Addr("api")
	if code, body := ask(t, "POST", api+"/api/v1/alertmanager", "hook-secret-of-tests", payload); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	for path, wants := range map[string][]string{
		"/status": {
			"1 connection or permission needs attention", "answers for 0 of 1 pool: ", "connection refused",
			"not configured; nothing can be changed", "sqlite, takes commits", "last delivery",
			"not configured; messages go to the log", "High TTFT", "Store schema",
		},
		"/pools/llama":         {">unknown<", "can&#39;t be read: ", "model_name=llama", "nothing; the pool is read-only"},
		"/":                    {`<a href="/pools/llama">llama</a>`, ">unknown<"},
		"/playbooks":           {`<a href="/playbooks/high-ttft">High TTFT`, `<a href="/playbooks/README">`},
		"/playbooks/high-ttft": {"What the bot proposes", `<a href="/playbooks/bad-replica">`},
		"/playbooks/README":    {"Writing a playbook"},
	} {
		code, page := ask(t, "GET", api+path, "view-secret", "")
		if code != 200 {
			t.Fatalf("%s: %d %s", path, code, page)
		}
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q:\n%s", path, want, page[strings.Index(page, "<main>"):])
			}
		}
		if strings.Contains(page, "secret") {
			t.Errorf("%s shows a secret", path)
		}
	}
}
