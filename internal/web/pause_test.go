package web_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

type pauseAnswer struct {
	Pauses  []incident.Pause
	Waiting []incident.Write
}

func pauseOf(pool string) incident.Pause {
	return incident.Pause{Pool: pool, Reason: "maintenance", By: ada, At: now}
}

func TestPauseAnswersWhenEarlierWritesHaveEnded(t *testing.T) {
	t.Parallel()
	mine, other := incident.Write{ID: "w1", Pool: "llama"}, incident.Write{ID: "w2", Pool: "qwen"}
	for _, tt := range []struct {
		name, pool string
		writes     [][]incident.Write
		took       time.Duration
	}{
		{"nothing is being written", "", [][]incident.Write{{}}, 0},
		{"it ends soon", "", [][]incident.Write{{mine, other}, {other}, {}}, 400 * time.Millisecond},
		{"another pool's write does not count", "llama", [][]incident.Write{{mine, other}, {other}}, 200 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				s.expect("pause", pauseOf(tt.pool), nil, nil)
				for _, w := range tt.writes {
					s.expect("writes", nil, w, nil)
				}
				s.expect("pauses", nil, []incident.Pause{pauseOf(tt.pool)}, nil)
				began := time.Now()
				rec := s.ask(post, "/api/v1/pause", "ada-token", `{"reason":"maintenance","pool":"`+tt.pool+`"}`)
				if took := time.Since(began); rec.Code != http.StatusOK || took != tt.took {
					t.Fatalf("%d after %s: %s", rec.Code, took, rec.Body)
				}
				var got pauseAnswer
				if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(pauseAnswer{[]incident.Pause{pauseOf(tt.pool)}, []incident.Write{}}, got); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestPauseListsTheWritesThatDoNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.expect("pause", pauseOf(""), nil, nil)
		s.always["writes"] = []incident.Write{{ID: "w1", Pool: "llama"}}
		s.expect("pauses", nil, []incident.Pause{pauseOf("")}, nil)
		began := time.Now()
		rec := s.ask(post, "/api/v1/pause", "ada-token", `{"reason":"maintenance"}`)
		var got pauseAnswer
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != http.StatusOK {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		if took := time.Since(began); len(got.Waiting) != 1 || got.Waiting[0].ID != "w1" || took != 20*time.Second {
			t.Errorf("%+v after %s", got, took)
		}
	})
}

func TestAPauseThatCannotBeMeantPausesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t) // SetPause is not expected
	for body, code := range map[string]int{
		``: 400, `{}`: 400, `{"reason":""}`: 400, `{"reason":" "}`: 400, `{"reason":"r","pool":"lama"}`: 404,
		`{"reason":"r","pools":"llama"}`: 400, `{"reason":"r"} {}`: 400,
	} {
		s.refused(s.ask(post, "/api/v1/pause", "ada-token", body), code)
	}
}

func TestAPauseThatIsNotStoredIsSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.expect("pause", pauseOf(""), nil, errors.New("disk full"))
	s.refused(s.ask(post, "/api/v1/pause", "ada-token", `{"reason":"maintenance"}`), http.StatusServiceUnavailable)
	s.expect("pause", pauseOf(""), nil, nil)
	s.expect("writes", nil, nil, errors.New("disk full"))
	s.refused(s.ask(post, "/api/v1/pause", "ada-token", `{"reason":"maintenance"}`), http.StatusServiceUnavailable)
}

func TestResumeEndsThePauseOfItsScope(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.expect("resume", "llama", true, nil)
	s.expect("pauses", nil, []incident.Pause{pauseOf("")}, nil)
	rec := s.ask(post, "/api/v1/resume", "ada-token", `{"pool":"llama"}`)
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "maintenance") {
		t.Errorf("%d %s: the pause of everything still holds, and must be in the answer", rec.Code, rec.Body)
	}
	s.expect("resume", "", false, nil)
	s.expect("pauses", nil, []incident.Pause{pauseOf("llama")}, nil)
	s.refused(s.ask(post, "/api/v1/resume", "ada-token", ``), http.StatusConflict)
	s.expect("resume", "llama", false, nil)
	s.expect("pauses", nil, []incident.Pause{pauseOf("llama")}, nil)
	rec = s.ask(post, "/api/v1/resume", "ada-token", `{"pool":"llama"}`)
	s.refused(rec, http.StatusConflict)
	if !strings.Contains(rec.Body.String(), "set after this request") {
		t.Errorf("%s: it doesn't say that a pause is in effect", rec.Body)
	}
	s.expect("resume", "", nil, errors.New("disk full"))
	s.refused(s.ask(post, "/api/v1/resume", "ada-token", `{}`), http.StatusServiceUnavailable)
	s.refused(s.ask(post, "/api/v1/resume", "ada-token", `{"scope":"all"}`), http.StatusBadRequest)
}
