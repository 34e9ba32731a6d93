package slack

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

func TestAnAccountIsAskedAboutOnceAMinute(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	for range 4 {
		f.click(f.request("U0ALICE", "approve:p1-s3"))
	}
	if n := len(f.CallsTo("users.info")); n != 1 {
		t.Errorf("four clicks of one person asked %d times", n)
	}
}

func TestADeactivatedAccountIsNoApproverAMinuteLater(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	var clock atomic.Int64
	a := accounts{client: w.client, queue: newQueue(), now: func() time.Time {
		return start.Add(time.Duration(clock.Load()))
	}}
	at := func(after time.Duration) (deleted bool, questions int) {
		t.Helper()
		clock.Store(int64(after))
		u, err := a.of(t.Context(), "U0ALICE")
		if err != nil || u.ID != "U0ALICE" {
			t.Fatalf("after %s: %+v, %v", after, u, err)
		}
		return u.Deleted, len(w.CallsTo("users.info"))
	}
	at(0)
	w.PutUser(fakeslack.User{ID: "U0ALICE", Name: "alice", Deleted: true})
	if deleted, n := at(accountsFor - time.Nanosecond); deleted || n != 1 {
		t.Errorf("within the minute: deactivated %t after %d questions", deleted, n)
	}
	if deleted, n := at(accountsFor); !deleted || n != 2 {
		t.Errorf("after the minute: deactivated %t after %d questions", deleted, n)
	}
	if accountsFor > time.Minute {
		t.Errorf("a person who left may decide for %s", accountsFor)
	}
}

func TestAFailureIsNeverRememberedAsAnAccount(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	a := accounts{client: w.client, queue: newQueue(), now: time.Now}
	w.Fail("users.info", 1, fakeslack.Fault{Error: "user_not_found"})
	if u, err := a.of(t.Context(), "U0ALICE"); err == nil || u.ID != "" {
		t.Errorf("a failure is an account: %+v", u)
	}
	if u, err := a.of(t.Context(), "U0ALICE"); err != nil || u.ID != "U0ALICE" {
		t.Errorf("the failure is remembered: %+v, %v", u, err)
	}
	w.Fail("users.info", 1, fakeslack.Fault{Error: "user_not_found"})
	if _, err := a.of(t.Context(), "U0BOB"); err == nil || !strings.Contains(err.Error(), "user_not_found") {
		t.Errorf("another person's account was used: %v", err)
	}
}

// Anybody in a channel can click, so what is remembered is bounded.
func TestRememberedAccountsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	a := accounts{client: w.client, queue: newQueue(), now: time.Now, known: map[string]knownAccount{}}
	for n := range maxAccounts {
		a.known[strings.Repeat("U", n+1)] = knownAccount{at: time.Now()}
	}
	if _, err := a.of(t.Context(), "U0ALICE"); err != nil || len(a.known) != 1 {
		t.Errorf("%d are remembered, %v", len(a.known), err)
	}
}
