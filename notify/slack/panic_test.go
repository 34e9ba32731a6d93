package slack

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// mined is a desk over which the program fails.
type mined struct {
	Lookup
	asked *atomic.Int64
}

func (m mined) Incident(context.Context, string) (incident.Incident, error) {
	m.asked.Add(1)
	panic("nil map")
}

// A click that the program fails over is tried some times, because a decision must not be lost over a hiccup. Then the
// person is told, and the workers go on.
func TestAClickThatPanicsIsGivenUpAndSaid(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.stop()
	res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
	if err != nil {
		t.Fatal(err)
	}
	i := f.another(InteractionsConfig{})
	asked := &atomic.Int64{}
	i.lookup, i.panics = mined{f.desk, asked}, rescue.NewLog(f.log, Part)
	f.run(i)
	for n := int64(1); n < clickTries; n++ {
		until(t, "the click is tried", func() bool { return asked.Load() == n })
		f.shelf.age(0) // its lease runs out
	}
	answers, err := f.WaitAnswers(t.Context(), res.ID, 1)
	if err != nil || !strings.Contains(answers[0].Text, "An internal error stopped this click") {
		t.Fatalf("the person hears %+v, %v", answers, err)
	}
	until(t, "the click is forgotten", func() bool { return f.shelf.waiting() == 0 })
	if got := asked.Load(); got != clickTries || i.panics.Counts()[Part] != clickTries || len(f.desk.decisions()) != 0 {
		t.Errorf("tried %d times, %v panics, %d decisions", got, i.panics.Counts(), len(f.desk.decisions()))
	}
	if _, err := f.shelf.AddClick(t.Context(), time.Now(), "", []byte(`{"type":"nothing of ours"}`)); err != nil {
		t.Fatal(err)
	}
	until(t, "the next click is handled", func() bool { return f.shelf.waiting() == 0 })
}
