package web_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/web"
)

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// routes are all routes with a body that is right.
var routes = []struct {
	method, path, body string
	read               bool
}{
	{get, "/", "", true},
	{get, "/incidents/inc-1", "", true},
	{get, "/api/v1/incidents", "", true},
	{get, "/api/v1/incidents/inc-1", "", true},
	{get, "/api/v1/incidents/inc-1/snapshots", "", true},
	{post, "/api/v1/incidents/inc-1/decision", `{"step":"p1-s1","digest":"d","decision":"approve"}`, false},
	{post, "/api/v1/incidents/inc-1/ack", `{}`, false},
	{post, "/api/v1/incidents/inc-1/abort", `{"reason":"r"}`, false},
	{post, "/api/v1/incidents/inc-1/close", `{"reason":"r"}`, false},
	{post, "/api/v1/incidents/inc-1/undo", `{"step":"p1-s1"}`, false},
	{post, "/api/v1/incidents/inc-1/decision", `{"digest":"d","decision":"deny"}`, false},
	{post, "/api/v1/incidents/inc-1/keep", `{"step":"p1-s1"}`, false},
	{post, "/api/v1/incidents/inc-1/ask", `{}`, false},
	{post, "/api/v1/incidents/inc-1/nonsense", `{}`, false},
	{post, "/api/v1/drills", `{"scenario":"queue","pool":"llama-70b"}`, false},
	{post, "/api/v1/pause", `{"reason":"r"}`, false},
	{post, "/api/v1/resume", `{}`, false},
}

func TestEveryRouteAsksWhoIsThere(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		s := newSite(t) // without an expectation: a call behind the gate fails the test
		for _, token := range []string{"", "wrong-token"} {
			rec := s.ask(r.method, r.path, token, r.body)
			s.refused(rec, http.StatusUnauthorized)
			if rec.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s: no WWW-Authenticate", r.method, r.path)
			}
		}
		s.refused(s.ask(r.method, r.path, "nobody-can-tell", r.body), http.StatusServiceUnavailable)
		if !r.read {
			s.refused(s.ask(r.method, r.path, "viewer-token", r.body), http.StatusForbidden)
		}
	}
}

// A browser sends a password by itself wherever a foreign page makes it send a request. So a password shows pages and
// does nothing.
func TestAPasswordOfABrowserReadsAndDoesNothing(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		s := newSite(t)
		s.always["list"], s.always["show"], s.always["pauses"] = []incident.Incident{}, incident.Incident{ID: "inc-1"},
			[]incident.Pause{}
		s.always["snapshots"] = []incident.Snapshot{}
		ofCluster := httptest.NewRequestWithContext(t.Context(), r.method, r.path, strings.NewReader(r.body))
		ofCluster.SetBasicAuth("anybody", "of-the-cluster")
		s.refused(s.send(ofCluster), http.StatusUnauthorized)
		req := httptest.NewRequestWithContext(t.Context(), r.method, r.path, strings.NewReader(r.body))
		req.SetBasicAuth("anybody", "ada-token")
		rec := s.send(req)
		if r.read && rec.Code != http.StatusOK {
			t.Errorf("%s %s: %d %s", r.method, r.path, rec.Code, rec.Body)
		}
		if !r.read {
			s.refused(rec, http.StatusUnauthorized)
		}
	}
}

func TestOtherSchemesAreNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, header := range []string{
		"ada-token", "Token ada-token", "Bearer", "Bearer ", "Basic ada-token", "Digest ada-token",
		"Basic " + base64.StdEncoding.EncodeToString([]byte("ada-token:")),
		"Basic " + base64.StdEncoding.EncodeToString([]byte("ada-token")),
	} {
		req := httptest.NewRequestWithContext(t.Context(), get, "/api/v1/incidents", nil)
		req.Header.Set("Authorization", header)
		s.refused(s.send(req), http.StatusUnauthorized)
	}
}

func TestListingPassesItsFilterOn(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]incident.Filter{
		"":                                  {AllPools: true, Limit: 50},
		"?state=open&pool=llama&limit=3":    {State: "open", Pool: "llama", Limit: 3},
		"?pool=":                            {Limit: 50},
		"?state=all":                        {AllPools: true, Limit: 50},
		"?state=closed&after=inc-9":         {State: "closed", AllPools: true, After: "inc-9", Limit: 50},
		"?state=watching&limit=1&unknown=x": {State: "watching", AllPools: true, Limit: 1},
	} {
		s := newSite(t)
		s.expect("list", want, []incident.Incident{incident.New("inc-1", "llama", incident.ModeApprove, false, now)}, nil)
		s.expect("pauses", nil, []incident.Pause{{Pool: "llama", Reason: "maintenance", By: ada, At: now}}, nil)
		rec := s.ask(get, "/api/v1/incidents"+query, "viewer-token", "")
		var got struct {
			Incidents []incident.Incident
			Pauses    []incident.Pause
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != http.StatusOK ||
			len(got.Incidents) != 1 || len(got.Pauses) != 1 {
			t.Errorf("%s: %d %s", query, rec.Code, rec.Body)
		}
	}
}

func TestAListingThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, query := range []string{
		"?limit=0", "?limit=-1", "?limit=many", "?limit=1e3", "?limit=99999999999999999999",
		"?state=opne",
	} {
		s.refused(s.ask(get, "/api/v1/incidents"+query, "viewer-token", ""), http.StatusBadRequest)
	}
}

func TestTheKeptEvidenceOfAnIncidentIsShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	kept := []incident.Snapshot{{
		Seq: 1, Of: incident.KindInvestigated, Healthy: incident.False, Asked: map[string]string{"ttft_p95": "a1b2"},
		Diagnosis: &incident.Diagnosis{Name: "queueing", Evidence: []incident.Condition{}},
		Others:    []incident.Other{}, Evidence: incident.Evidence{At: now, Readings: map[string]incident.Reading{}},
	}}
	s.expect("snapshots", "inc-1", kept, nil)
	rec := s.ask(get, "/api/v1/incidents/inc-1/snapshots", "viewer-token", "")
	var got struct {
		Snapshots []incident.Snapshot `json:"snapshots"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept, got.Snapshots); diff != "" || rec.Code != http.StatusOK {
		t.Errorf("%d (-want +got):\n%s", rec.Code, diff)
	}
	s.expect("snapshots", "inc-2", []incident.Snapshot(nil), nil) // an older version looked after it
	if rec := s.ask(get, "/api/v1/incidents/inc-2/snapshots", "viewer-token", ""); rec.Body.String() !=
		"{\"snapshots\":[]}\n" {
		t.Errorf("none: %s", rec.Body)
	}
	s.expect("snapshots", "inc-3", nil, incident.ErrNotFound)
	s.refused(s.ask(get, "/api/v1/incidents/inc-3/snapshots", "viewer-token", ""), http.StatusNotFound)
	s.expect("snapshots", "inc-4", nil, errors.New("a body is damaged"))
	s.refused(s.ask(get, "/api/v1/incidents/inc-4/snapshots", "viewer-token", ""), http.StatusServiceUnavailable)
}

func TestAnIncidentIsShownWithItsJournal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	inc.Journal = []incident.Entry{{Seq: 1, At: now, Kind: incident.KindAlerts, Text: "Alert joined: HighTTFT."}}
	s.expect("show", "inc-1", inc, nil)
	rec := s.ask(get, "/api/v1/incidents/inc-1", "ada-token", "")
	var got incident.Incident
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inc, got); diff != "" || rec.Code != http.StatusOK {
		t.Errorf("%d (-want +got):\n%s", rec.Code, diff)
	}
	s.expect("show", "inc-2", nil, incident.ErrNotFound)
	s.refused(s.ask(get, "/api/v1/incidents/inc-2", "ada-token", ""), http.StatusNotFound)
}

func TestTheVerbsBecomeEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		verb, body string
		want       incident.Event
	}{
		{
			"decision", `{"step":"p1-s1","digest":"abc","decision":"approve","reason":"go","confirmed":true}`,
			incident.Decided{Decision: incident.Decision{
				Step: "p1-s1", Digest: "abc", Verb: incident.Approve, By: ada, Reason: "go", Confirm: true,
			}},
		},
		{"decision", `{"step":"p1-s1","digest":"abc","decision":"deny"}`, incident.Decided{Decision: incident.Decision{
			Step: "p1-s1", Digest: "abc", Verb: incident.Deny, By: ada,
		}}},
		{"decision", `{"digest":"abc","decision":"deny","reason":"no"}`, incident.Decided{Decision: incident.Decision{
			Digest: "abc", Verb: incident.Deny, By: ada, Reason: "no",
		}}},
		{
			"keep", `{"step":"p1-s1","reason":"enough"}`,
			incident.Decided{Decision: incident.Decision{Step: "p1-s1", Verb: incident.Keep, By: ada, Reason: "enough"}},
		},
		{
			"narrow", `{"step":"p1-s1","digest":"abc","to":"160","reason":"peak"}`,
			incident.Narrowed{Step: "p1-s1", Digest: "abc", To: incident.Set("160"), By: ada, Reason: "peak"},
		},
		{"decision", `{"digest":"abc","decision":"deny","snooze":"2h"}`, incident.Decided{Decision: incident.Decision{
			Digest: "abc", Verb: incident.Deny, By: ada, Snooze: 2 * time.Hour,
		}}},
		{"ask", `{"reason":"back"}`, incident.AskedAgain{By: ada, Reason: "back"}},
		{"ask", ``, incident.AskedAgain{By: ada}},
		{"ack", ``, incident.Acked{By: ada}},
		{"ack", `{}`, incident.Acked{By: ada}},
		{"abort", `{"reason":"wrong pool"}`, incident.Aborted{By: ada, Reason: "wrong pool"}},
		{"close", `{"reason":"looked at"}`, incident.Closed{By: ada, Reason: "looked at"}},
		{
			"undo", `{"step":"p1-s1","reason":"no help"}`,
			incident.Decided{Decision: incident.Decision{Step: "p1-s1", Verb: incident.Undo, By: ada, Reason: "no help"}},
		},
	} {
		s := newSite(t)
		call := "act"
		if _, decision := tt.want.(incident.Decided); decision {
			call = "decide"
		}
		s.expect(call, acted{"inc-1", tt.want}, incident.New("inc-1", "llama", incident.ModeApprove, false, now), nil)
		if rec := s.ask(post, "/api/v1/incidents/inc-1/"+tt.verb, "ada-token", tt.body); rec.Code != http.StatusOK ||
			!strings.Contains(rec.Body.String(), `"id":"inc-1"`) {
			t.Errorf("%s: %d %s", tt.verb, rec.Code, rec.Body)
		}
	}
}

func TestWhatTheEngineSaysBecomesAnAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		code int
		want string
	}{
		{"refused", &incident.RefusedError{Reason: "This was decided already."}, 409, "This was decided already."},
		{"refused, wrapped", errors.Join(&incident.RefusedError{Reason: "No."}), 409, "No."},
		{
			"no such incident", incident.ErrNotFound, 404,
			"there is no such incident; vllm-medic incidents list --state all lists every ID",
		},
		{"the store", errors.New("password=hunter2: disk full"), 503, "the store is unavailable; try again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.expect("act", acted{"inc-1", incident.Acked{By: ada}}, nil, tt.err)
			if got := s.refused(s.ask(post, "/api/v1/incidents/inc-1/ack", "ada-token", ""), tt.code); got != tt.want {
				t.Errorf("said %q, want %q", got, tt.want)
			}
			if logged := strings.Contains(s.log.String(), "disk full"); logged != (tt.code == 503) {
				t.Errorf("the log: %s", s.log)
			}
		})
	}
}

func TestOtherMethodsAndPathsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, tt := range []struct {
		method, path string
		code         int
	}{
		{get, "/api/v1/pause", 405},
		{get, "/api/v1/incidents/inc-1/decision", 405},
		{http.MethodPut, "/api/v1/incidents/inc-1/decision", 405},
		{http.MethodDelete, "/api/v1/incidents/inc-1", 405},
		{post, "/api/v1/incidents", 405},
		{post, "/", 405},
		{get, "/api/v2/incidents", 404},
		{get, "/api/v1/incident", 404},
	} {
		s.refused(s.ask(tt.method, tt.path, "ada-token", ""), tt.code)
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	if _, err := web.New(web.Deps{}); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("got %v", err)
	}
}
