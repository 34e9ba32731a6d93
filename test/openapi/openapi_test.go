package openapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheDocumentIsValid(t *testing.T) {
	t.Parallel()
	doc, err := Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !doc.IsOpenAPI31OrLater() {
		t.Errorf("it is OpenAPI %s, want 3.1", doc.OpenAPI)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.OperationID == "" || op.Summary == "" || len(op.Tags) != 1 || doc.Tags.Get(op.Tags[0]) == nil {
				t.Errorf("%s %s lacks an id, a summary or one of the tags", method, path)
			}
		}
	}
}

// What tests hand in is refused when it is not what the document says: a check that takes everything shows nothing.
func TestWhatTheDocumentDoesNotSayIsRefused(t *testing.T) {
	t.Parallel()
	const incident = `{"id":"i","pool":"p","state":"received","mode":"dry-run","dryRun":true,` +
		`"openedAt":"2026-03-01T03:00:00Z","updatedAt":"2026-03-01T03:00:00Z","alerts":null,"readings":null,` +
		`"cluster":{},"diagnosis":null,"others":null,` +
		`"plan":null,"decisions":null,"journal":null,"version":1,"drill":true}`
	for name, c := range map[string]struct {
		method, path, body string
		code               int
		kind, answer, want string
	}{
		"an incident":           {"GET", "/api/v1/incidents/i", "", 200, "application/json", incident, ""},
		"no such route":         {"GET", "/api/v2/incidents", "", 200, "application/json", "{}", "no matching operation"},
		"no such route, as 404": {"GET", "/api/v2/incidents", "", 404, "application/json", "{}", ""},
		"another code":          {"GET", "/api/v1/incidents/i", "", 418, "application/json", `{"error":"x"}`, "status"},
		"another kind":          {"GET", "/api/v1/incidents/i", "", 200, "application/xml", "<x/>", "Content-Type"},
		"a field less": {
			"GET", "/api/v1/incidents/i", "", 200, "application/json", strings.Replace(incident, `"id":"i",`, "", 1), "id",
		},
		"a field more": {
			"GET", "/api/v1/incidents/i", "", 200, "application/json", strings.Replace(incident, `{`, `{"new":1,`, 1), "new",
		},
		"another type": {
			"GET", "/api/v1/incidents/i", "", 200, "application/json",
			strings.Replace(incident, `"version":1`, `"version":"1"`, 1), "version",
		},
		"an error without its sentence": {"GET", "/api/v1/incidents/i", "", 404, "application/json", `{}`, "error"},
		"a request that is taken and not described": {
			"POST", "/api/v1/incidents/i/decision", `{"digest":"d","decision":"maybe"}`, 200,
			"application/json", incident, "decision",
		},
		"a request that is refused": {
			"POST", "/api/v1/incidents/i/decision", `{"digest":"d","decision":"maybe"}`, 400,
			"application/json", `{"error":"x"}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body))
			err := check(t.Context(), asked, []byte(c.body), c.code, http.Header{"Content-Type": {c.kind}}, []byte(c.answer))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
