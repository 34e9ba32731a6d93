package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// deaf answers every claim with an error, once its channel is closed.
type deaf struct {
	Store
	answer chan struct{}
}

var errDown = errors.New("the store is down")

func (d deaf) ClaimDue(context.Context, string, time.Time, time.Duration, int) ([]incident.Claimed, error) {
	<-d.answer
	return nil, errDown
}

func (d deaf) ClaimDeliveries(context.Context, string, time.Time, time.Duration, int) ([]incident.Delivery, error) {
	<-d.answer
	return nil, errDown
}

func (d deaf) ClaimMessages(
	context.Context, string, string, time.Time, time.Duration, int,
) ([]incident.Message, error) {
	<-d.answer
	return nil, errDown
}

func TestALoopThatHangsIsStuckAndOneThatFailsIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newLiveness(time.Minute, time.Now)
		if got := p.stuck(); got != nil {
			t.Errorf("before the start: %q", got)
		}
		p.begin()
		hangs := watchedStore{deaf{answer: make(chan struct{})}, p}
		fails := watchedStore{deaf{answer: closedChannel()}, p}
		done := make(chan error, 1)
		go func() {
			_, err := hangs.ClaimDeliveries(t.Context(), "me", time.Now(), time.Minute, 1)
			done <- err
		}()
		for range 6 {
			time.Sleep(time.Minute)
			p.beat(loopCommits)
			if _, err := fails.ClaimDue(t.Context(), "me", time.Now(), time.Minute, 1); !errors.Is(err, errDown) {
				t.Errorf("ClaimDue = %v", err)
			}
			_, err := fails.ClaimMessages(t.Context(), incident.SinkSlack, "me", time.Now(), time.Minute, 1)
			if !errors.Is(err, errDown) {
				t.Errorf("ClaimMessages = %v", err)
			}
		}
		if got := p.stuck(); len(got) != 1 || !strings.HasPrefix(got[0], "inbox: ") {
			t.Errorf("stuck = %q, want the inbox", got)
		}
		close(hangs.Store.(deaf).answer)
		if err := <-done; !errors.Is(err, errDown) {
			t.Errorf("ClaimDeliveries = %v", err)
		}
		if got := p.stuck(); got != nil {
			t.Errorf("after it went on: %q", got)
		}
	})
}

// The dispatchers do not wait for each other, so that each one's silence counts.
func TestASinkThatHangsIsNotHiddenByAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newLiveness(time.Minute, time.Now)
		p.begin("siem", "teams")
		store := watchedStore{deaf{answer: closedChannel()}, p}
		for range 6 {
			time.Sleep(time.Minute)
			for _, loop := range []string{loopCommits, loopInbox, loopIncidents} {
				p.beat(loop)
			}
			_, err := store.ClaimMessages(t.Context(), "teams", "me", time.Now(), time.Minute, 1)
			if !errors.Is(err, errDown) {
				t.Errorf("ClaimMessages = %v", err)
			}
		}
		got := p.stuck()
		if len(got) != 2 || !strings.HasPrefix(got[0], "messages to siem: ") || !strings.HasPrefix(got[1], "messages: ") {
			t.Errorf("stuck = %q, want Slack and the siem", got)
		}
	})
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestALoopWithinItsLeasesIsNotStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newLiveness(time.Minute, time.Now)
		p.begin()
		time.Sleep(livenessLeases * time.Minute)
		if got := p.stuck(); got != nil {
			t.Errorf("at the limit: %q", got)
		}
		time.Sleep(time.Second)
		if got := p.stuck(); len(got) != 4 {
			t.Errorf("after the limit: %q", got)
		}
	})
}
