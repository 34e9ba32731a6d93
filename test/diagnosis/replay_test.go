package diagnosis

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// TestAccuracyDoesNotFall replays the whole corpus. The number of right answers may only rise, and every wrong one
// stands in README.md with its reason.
func TestAccuracyDoesNotFall(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	r, err := NewReplayer()
	if err != nil {
		t.Fatal(err)
	}
	score, err := r.Run(t.Context(), corpus(t), 2, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := score.Holds("README.md", "accuracy.txt"); err != nil {
		t.Error(err)
	}
}

// TestHoldsNamesWhatIsNotCommitted: a run that differs from what is committed must be an error, each part for itself.
func TestHoldsNamesWhatIsNotCommitted(t *testing.T) {
	t.Parallel()
	result := func(name, truth, got string) Result {
		return Result{Incident{Name: name, Truth: truth, Dialect: native, Generation: "V1"}, Answer{Got: got, Why: "because"}}
	}
	known := Score{result("a", "queueing", "queueing"), result("b", "queueing", "at-capacity")}
	for name, tt := range map[string]struct {
		run    Score
		reason string
		want   string
	}{
		"as committed": {known, "two things at once", ""},
		"worse": {
			Score{result("a", "queueing", "idle"), known[1]},
			"two things at once",
			"0 of 2 are right, fewer than the committed 1",
		},
		"better": {
			Score{known[0], result("b", "queueing", "queueing")},
			"two things at once",
			"does not say what this run says",
		},
		"without a reason": {known, noReason, "gives no reason for b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readme, number := filepath.Join(t.TempDir(), "README.md"), filepath.Join(t.TempDir(), "accuracy.txt")
			text := missesBegin + known.Section([]Miss{{"b", "queueing", "at-capacity", tt.reason}}) + missesEnd
			if err := errors.Join(os.WriteFile(readme, []byte(text), 0o600),
				os.WriteFile(number, []byte("1 of 2\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
			err := tt.run.Holds(readme, number)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestAnswersFollowTheMetrics: the same incident without its trouble must not get the same diagnosis, else the replay
// shows nothing.
func TestAnswersFollowTheMetrics(t *testing.T) {
	t.Parallel()
	r, err := NewReplayer()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"thrash-native", "queueing-early-v1"} {
		inc := named(t, name)
		inc.Phases = inc.Phases[:1]
		a, err := r.Replay(t.Context(), inc, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if a.Got == inc.Truth {
			t.Errorf("%s without its trouble is still %s: %s", name, a.Got, a.Why)
		}
	}
}

func TestPoolIsFoundByInstanceAlone(t *testing.T) {
	t.Parallel()
	r, err := NewReplayer()
	if err != nil {
		t.Fatal(err)
	}
	inc := named(t, "queueing-early-v1")
	for _, a := range inc.alerts()[:1] {
		if _, ok := a.Labels["pod"]; ok || a.Labels["instance"] == "" {
			t.Fatalf("the alert carries %v", a.Labels)
		}
	}
	a, err := r.Replay(t.Context(), inc, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if a.Full.Pool != model || len(a.Full.Alerts) != len(inc.Alerts) {
		t.Errorf("pool %q got %d of %d alerts: %s", a.Full.Pool, len(a.Full.Alerts), len(inc.Alerts), a.Full.Note)
	}
}

func TestReportNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	result := func(name, truth, got, dialect string) Result {
		return Result{Incident{
			Name: name, Truth: truth, Dialect: dialect,
			Accept: map[string]string{"at-capacity": "as good"},
		}, Answer{Got: got, Why: "because"}}
	}
	s := Score{
		result("a", "queueing", "queueing", native), result("b", "queueing", "at-capacity", native),
		result("c", "kv-thrash", "queueing", underscore), result("d", "idle", "idle", ray),
	}
	var out strings.Builder
	if err := s.Report(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"c: expected kv-thrash, got queueing: because",
		"3 of 4 right, 75.0%; without the accepted other answers 2, 50.0%", "native      2 of 2  100%",
		"underscore  0 of 1  0%",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "b: expected") {
		t.Error("an accepted answer counts as wrong")
	}
}
