package webhook

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/alertmanager/template"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var now = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// body is a payload in the shape that Alertmanager 0.34.2 sends; edit changes it.
func body(t testing.TB, edit func(map[string]any)) []byte {
	t.Helper()
	p := map[string]any{
		"version": "4", "groupKey": `{}:{namespace="llm"}`, "truncatedAlerts": 0, "status": "firing",
		"receiver":            `vllm\.medic`,
		"notification_reason": "first notification", "groupLabels": map[string]any{"namespace": "llm"},
		"routeLabels":  map[string]any{},
		"commonLabels": map[string]any{}, "commonAnnotations": map[string]any{}, "externalURL": "http://am:9093",
		"alerts": []any{map[string]any{
			"status": "firing", "labels": map[string]any{"alertname": "vLLMHighTTFT", "namespace": "llm"},
			"annotations": map[string]any{"summary": "slow"},
			"startsAt":    "2026-11-21T02:55:00Z", "endsAt": "0001-01-01T00:00:00Z", "generatorURL": "http://prom/graph",
			"fingerprint": "00112233aabbccdd",
		}},
	}
	if edit != nil {
		edit(p)
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func firstAlert(p map[string]any) map[string]any { return p["alerts"].([]any)[0].(map[string]any) }

func TestDecodeNormalises(t *testing.T) {
	t.Parallel()
	got, err := Decode(body(t, nil), now)
	if err != nil {
		t.Fatal(err)
	}
	want := incident.Delivery{
		ReceivedAt: now, Receiver: "vllm.medic", GroupKey: `{}:{namespace="llm"}`, Reason: "first notification",
		Sender: "http://am:9093",
		Alerts: []incident.Alert{{
			Fingerprint: "00112233aabbccdd", Labels: map[string]string{"alertname": "vLLMHighTTFT", "namespace": "llm"},
			Annotations: map[string]string{"summary": "slow"}, Firing: true,
			StartsAt:     time.Date(2026, 11, 21, 2, 55, 0, 0, time.UTC),
			GeneratorURL: "http://prom/graph", SeenAt: now,
		}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestDecodeKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	got, err := Decode(body(t, func(p map[string]any) {
		p["truncatedAlerts"] = 7
		p["something_new"] = map[string]any{"x": 1}
		a := firstAlert(p)
		a["status"], a["endsAt"] = "resolved", "2026-11-21T02:58:00Z"
	}), now)
	if err != nil {
		t.Fatalf("a foreign field must be tolerated: %v", err)
	}
	if got.Truncated != 7 {
		t.Errorf("truncated is %d, want 7", got.Truncated)
	}
	if a := got.Alerts[0]; a.Firing || a.EndsAt.IsZero() {
		t.Errorf("status decides, not the group's: %+v", a)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want string
		raw        string
		edit       func(map[string]any)
	}{
		{name: "empty", raw: ``, want: "ends too early"},
		{name: "null", raw: `null`, want: "$.version"},
		{name: "empty object", raw: `{}`, want: "$.version"},
		{name: "array", raw: `[]`, want: "JSON array"},
		{name: "half", raw: `{"version":"4"`, want: "ends too early"},
		{name: "not JSON", raw: `version=4`, want: "not JSON"},
		{name: "two objects", raw: `{"version":"4"}{"version":"4"}`, want: "something follows"},
		{name: "version as a number", edit: func(p map[string]any) { p["version"] = 4 }, want: "$.version"},
		{name: "other version", edit: func(p map[string]any) { p["version"] = "5" }, want: `only "4"`},
		{name: "no alerts", edit: func(p map[string]any) { p["alerts"] = nil }, want: "$.alerts: is empty"},
		{name: "null alert", edit: func(p map[string]any) { p["alerts"] = []any{nil} }, want: "$.alerts[0].fingerprint"},
		{name: "group status", edit: func(p map[string]any) { p["status"] = "unknown" }, want: "$.status"},
		{
			name: "alert status", edit: func(p map[string]any) { firstAlert(p)["status"] = "FIRING" },
			want: "$.alerts[0].status",
		},
		{
			name: "fingerprint", edit: func(p map[string]any) { firstAlert(p)["fingerprint"] = "../../etc" },
			want: "$.alerts[0].fingerprint",
		},
		{name: "labels", edit: func(p map[string]any) { firstAlert(p)["labels"] = nil }, want: "$.alerts[0].labels"},
		{
			name: "label that is a number", edit: func(p map[string]any) { firstAlert(p)["labels"] = map[string]any{"a": 1} },
			want: "$.alerts",
		},
		{name: "start", edit: func(p map[string]any) { delete(firstAlert(p), "startsAt") }, want: "$.alerts[0].startsAt"},
		{name: "empty time", edit: func(p map[string]any) { firstAlert(p)["startsAt"] = "" }, want: "time"},
		{name: "negative truncation", edit: func(p map[string]any) { p["truncatedAlerts"] = -1 }, want: "$.truncatedAlerts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			raw := []byte(tc.raw)
			if tc.edit != nil {
				raw = body(t, tc.edit)
			}
			_, err := Decode(raw, now)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want it to contain %q", err, tc.want)
			}
		})
	}
}

func TestDecodeNamesEveryMistakeAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Decode(body(t, func(p map[string]any) {
		p["status"] = "x"
		firstAlert(p)["fingerprint"] = "x"
		firstAlert(p)["labels"] = nil
	}), now)
	for _, want := range []string{"$.status", "$.alerts[0].fingerprint", "$.alerts[0].labels"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

func TestUnquoteMetaUndoesQuoteMeta(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"web.hook", `a\b`, "x(y)[z]{1}^$|?*+", "plain", "", `tail\`, "ü.ö"} {
		if got := unquoteMeta(regexp.QuoteMeta(s)); got != s {
			t.Errorf("%q came back as %q", s, got)
		}
	}
}

// atMost is a time as it is taken: one that cannot have been yet is the receipt.
func atMost(t time.Time) time.Time {
	if t.Sub(now) > incident.ClockTolerance {
		return now
	}
	return t
}

// theirs compares with what Alertmanager's own types read from the same body. They take names in any case; those bodies
// are left out.
func theirs(t *testing.T, raw []byte, got incident.Delivery) {
	t.Helper()
	var want struct {
		template.Data
		GroupKey        string `json:"groupKey"`
		TruncatedAlerts uint64 `json:"truncatedAlerts"`
	}
	exact := jsonv1.MatchCaseSensitiveDelimiter(true)
	if err := jsonv2.Unmarshal(raw, &want, jsonv1.DefaultOptionsV1(), jsonv2.MatchCaseInsensitiveNames(false),
		exact); err != nil {
		return // theirs is stricter somewhere where it does not matter, such as in fields that are not used
	}
	if got.GroupKey != clipName(want.GroupKey) || got.Truncated != want.TruncatedAlerts ||
		got.Receiver != clipName(unquoteMeta(want.Receiver)) || len(got.Alerts) != len(want.Alerts) {
		t.Fatalf("%+v\nis not %+v", got, want)
	}
	for n, a := range got.Alerts {
		w := want.Alerts[n]
		w.StartsAt, w.EndsAt = atMost(w.StartsAt), atMost(w.EndsAt)
		if len(w.Labels) > maxPairs || len(w.Annotations) > maxPairs {
			continue
		}
		clipped := incident.Alert{Labels: w.Labels, Annotations: w.Annotations, GeneratorURL: w.GeneratorURL}
		clipAlert(&clipped)
		w.Labels, w.Annotations = template.KV(clipped.Labels), template.KV(clipped.Annotations)
		w.GeneratorURL = clipped.GeneratorURL
		if a.Fingerprint != w.Fingerprint || !maps.Equal(a.Labels, w.Labels) || !maps.Equal(a.Annotations, w.Annotations) ||
			!a.StartsAt.Equal(w.StartsAt) ||
			a.GeneratorURL != w.GeneratorURL || a.Firing != (w.Status == "firing") || !a.Firing && !a.EndsAt.Equal(w.EndsAt) {
			t.Fatalf("alert %d: %+v\nis not %+v", n, a, w)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(body(f, nil))
	f.Add([]byte(
		`{"version":"4","status":"firing","alerts":[{"status":"resolved","labels":{"a":"\u00e9\\n\xff","a":"2"},` +
			`"annotations":{"\\u0061":"<!channel>"},"startsAt":"2026-11-21T02:55:00+01:00","endsAt":"2026-11-21T02:58:00.5Z",` +
			`"fingerprint":"0011223344556677"}]}`,
	))
	f.Add([]byte(`{"version":"4","status":"firing","alerts":[null]}`))
	f.Add([]byte(`{"version":"4","status":"firing","alerts":[{"labels":{"a":"<!channel>"}}]} x`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if part, err := DecodeFrom(until(raw, 2*len(raw)/3), now); err == nil {
			for _, a := range part.Alerts {
				if !fingerprint(a.Fingerprint) || len(a.Labels) == 0 || a.StartsAt.IsZero() {
					t.Fatalf("an incomplete alert was taken from a part: %+v", a)
				}
			}
		}
		d, err := Decode(raw, now)
		if err != nil {
			return
		}
		theirs(t, raw, d)
		if len(d.Alerts) == 0 {
			t.Fatal("a delivery without alerts was accepted")
		}
		for _, a := range d.Alerts {
			if !fingerprint(a.Fingerprint) || len(a.Labels) == 0 || a.StartsAt.IsZero() {
				t.Fatalf("an incomplete alert was accepted: %+v", a)
			}
			if a.Firing && !a.EndsAt.IsZero() {
				t.Fatal("a firing alert has an end")
			}
		}
	})
}
