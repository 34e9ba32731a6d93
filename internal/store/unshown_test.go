package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// An incident without a pool whose alerts have all found theirs was never shown: no message, no line in a listing, and
// nothing that is opened again.
func TestWhatPeopleAreNotShown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		for n := range 5 {
			inc := incident.New(fmt.Sprint("inc-", n), "", incident.ModeApprove, false, now.Add(time.Duration(n)*time.Minute))
			inc.Unshown = n != 1
			inc.State, inc.ClosedAt = incident.StateClosed, inc.OpenedAt.Add(time.Second)
			ok(t, s.Commit(ctx, incident.Change{
				Incident: inc, Render: true, Entries: []incident.Entry{{At: now, Kind: incident.KindAlerts, Thread: true}},
			}))
		}
		got, err := s.Incidents(ctx, incident.Filter{AllPools: true, Limit: 1})
		ok(t, err)
		if len(got) != 1 || got[0].ID != "inc-1" {
			t.Errorf("listed: %+v", got)
		}
		last, found, err := s.LastClosed(ctx, "", now)
		ok(t, err)
		if !found || last.ID != "inc-1" {
			t.Errorf("found %t: %s was closed last", found, last.ID)
		}
		messages, err := s.ClaimMessages(ctx, incident.SinkSlack, "me", now.Add(time.Hour), time.Minute, 10)
		ok(t, err)
		if len(messages) != 1 || messages[0].Incident != "inc-1" {
			t.Errorf("messages: %+v", messages)
		}
		visited := 0
		_, err = s.EachOpened(ctx, incident.Opened{Since: now, Until: now.Add(time.Hour), AllPools: true},
			func(incident.Incident, time.Time) error { visited++; return nil })
		ok(t, err)
		if visited != 1 {
			t.Errorf("%d are in the report", visited)
		}
		opened := int64(0)
		stats, err := s.Stats(ctx)
		ok(t, err)
		for _, x := range stats.Tallies {
			if x.Family == incident.TallyOpened {
				opened += x.Count
			}
		}
		if opened != 1 {
			t.Errorf("%d are counted", opened)
		}
	})
}
