package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestBodiesThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	const decide = "decision"
	for _, tt := range []struct {
		name, verb, body string
		code             int
	}{
		{"nothing", decide, ``, 400},
		{"no digest", decide, `{"step":"p1-s1","decision":"approve"}`, 400},
		{"no step", decide, `{"digest":"d","decision":"approve"}`, 400},
		{"no digest", decide, `{"decision":"deny"}`, 400},
		{"a snooze that is no time", decide, `{"digest":"d","decision":"deny","snooze":"a while"}`, 400},
		{"a snooze of no length", decide, `{"digest":"d","decision":"deny","snooze":"0s"}`, 400},
		{"a snooze backwards", decide, `{"digest":"d","decision":"deny","snooze":"-1h"}`, 400},
		{"keep has its own route", decide, `{"step":"p1-s1","digest":"d","decision":"keep"}`, 400},
		{"a digest", "ask", `{"digest":"d"}`, 400},
		{"no step", "keep", `{"reason":"r"}`, 400},
		{"no step", "narrow", `{"digest":"d","to":"160"}`, 400},
		{"no digest", "narrow", `{"step":"p1-s1","to":"160"}`, 400},
		{"no value", "narrow", `{"step":"p1-s1","digest":"d"}`, 400},
		{"a number", "narrow", `{"step":"p1-s1","digest":"d","to":160}`, 400},
		{"no decision", decide, `{"step":"p1-s1","digest":"d"}`, 400},
		{"another decision", decide, `{"step":"p1-s1","digest":"d","decision":"maybe"}`, 400},
		{"undo has its own route", decide, `{"step":"p1-s1","digest":"d","decision":"undo"}`, 400},
		{"an unknown field", decide, `{"step":"p1-s1","digest":"d","decision":"approve","by":"root"}`, 400},
		{"a wrong type", decide, `{"step":1,"digest":"d","decision":"approve"}`, 400},
		{"cut off", decide, `{"step":"p1-s1","digest":"d","decision":"approve"`, 400},
		{"two objects", decide, `{"step":"p1-s1","digest":"d","decision":"approve"}{"decision":"deny"}`, 400},
		{"something behind", decide, `{"step":"p1-s1","digest":"d","decision":"approve"} x`, 400},
		{"a list", decide, `[{"step":"p1-s1","digest":"d","decision":"approve"}]`, 400},
		{"null", "ack", `null`, 400},
		{"a form", "ack", `step=p1-s1`, 400},
		{
			"too long", decide,
			`{"step":"p1-s1","digest":"d","decision":"approve","reason":"` + strings.Repeat("x", 64<<10) + `"}`, 413,
		},
		{"too long behind", "ack", `{}` + strings.Repeat(" ", 64<<10), 413},
		{"an unknown field", "ack", `{"force":true}`, 400},
		{"no reason", "abort", `{}`, 400},
		{"an empty reason", "abort", `{"reason":"  "}`, 400},
		{"no reason", "close", ``, 400},
		{"no step", "undo", `{"reason":"r"}`, 400},
		{"no such verb", "approve", `{}`, 404},
	} {
		t.Run(tt.verb+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.refused(s.ask(post, "/api/v1/incidents/inc-1/"+tt.verb, "ada-token", tt.body), tt.code)
		})
	}
}

// A body that a proxy could read as a denial and the bot as an approval is neither.
func TestABodyThatReadsInTwoWaysIsRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"step":"p1-s1","digest":"d","decision":"deny","decision":"approve"}`,
		`{"step":"p1-s1","digest":"d","decision":"deny","Decision":"approve"}`,
		`{"step":"p1-s1","digest":"d","DECISION":"approve"}`,
		"{\"step\":\"p1-s1\",\"digest\":\"d\xff\",\"decision\":\"approve\"}",
	} {
		s := newSite(t)
		s.refused(s.ask(post, "/api/v1/incidents/inc-1/decision", "ada-token", body), 400)
	}
}

func FuzzDecisionBody(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `null`, `{"step":"p1-s1","digest":"d","decision":"approve"}`,
		`{"step":"p1-s1","digest":"d","decision":"deny","confirmed":true}`,
		`{"Step":"p1-s1","DIGEST":"d","decision":"approve"}`, `{"step":"a","step":"b","digest":"d","decision":"deny"}`,
		`{"x":1}`, `[1]`, "\xff", `{"step":"p1-s1"}{}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := newSite(t)
		var got []acted
		s.always["decide"] = incident.Incident{ID: "inc-1"}
		s.onCall = func(call string, args any) {
			if a, ok := args.(acted); ok && call == "decide" {
				got = append(got, a)
			}
		}
		rec := s.ask(post, "/api/v1/incidents/inc-1/decision", "ada-token", body)
		if rec.Code != http.StatusOK {
			if len(got) != 0 {
				t.Fatalf("answered %d and acted %+v on %q", rec.Code, got, body)
			}
			if rec.Code != http.StatusBadRequest && rec.Code != http.StatusRequestEntityTooLarge {
				t.Fatalf("code %d for %q", rec.Code, body)
			}
			s.refused(rec, rec.Code)
			return
		}
		if len(got) != 1 {
			t.Fatalf("acted %d times on %q", len(got), body)
		}
		d := got[0].Event.(incident.Decided).Decision
		approved, denied := d.Verb == incident.Approve && d.Step != "", d.Verb == incident.Deny
		if !approved && !denied || d.Digest == "" || d.By != ada {
			t.Fatalf("%q became %+v", body, d)
		}
		if !json.Valid([]byte(body)) {
			t.Fatalf("%q is no JSON and was taken", body)
		}
	})
}
