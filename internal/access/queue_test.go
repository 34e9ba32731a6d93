package access

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Each sender has its turn, whoever has more waiting; and none has more places than one may have.
func TestTheQueueGivesEachSenderItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 1, 100)
		first, err := q.enter(t.Context(), "first", time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		come := func(key string) {
			go func() {
				leave, err := q.enter(t.Context(), key, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, key)
				leave()
			}()
			synctest.Wait()
		}
		for _, key := range []string{"many", "many", "many", "one", "other"} {
			come(key)
		}
		first()
		synctest.Wait()
		want := []string{"many", "one", "other", "many", "many"}
		for n := range want {
			if len(order) != len(want) || order[n] != want[n] {
				t.Fatalf("the order is %v, want %v", order, want)
			}
		}
		if len(q.of) != 0 || len(q.turns) != 0 || q.taken != 0 || q.waiting != 0 {
			t.Errorf("the queue keeps %v %v, %d taken, %d waiting", q.of, q.turns, q.taken, q.waiting)
		}
	})
}

// A sender with too many waiting loses some of its own, and no other does.
func TestAFullQueueTurnsAwayWhoeverHasMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(4, 2, 10)
		answers := map[string]chan error{"many": make(chan error, 100), "one": make(chan error, 1)}
		come := func(key string) {
			go func() {
				leave, err := q.enter(t.Context(), key, time.Minute)
				answers[key] <- err
				if err == nil {
					time.Sleep(time.Second)
					leave()
				}
			}()
			synctest.Wait()
		}
		for range 50 {
			come("many")
		}
		if q.taken != 2 || q.waiting != 10 {
			t.Errorf("one sender has %d of four places, and %d wait", q.taken, q.waiting)
		}
		come("one")
		if err := <-answers["one"]; err != nil {
			t.Errorf("another sender: %v", err)
		}
		time.Sleep(time.Minute)
		served, busy := 0, 0
		for range 50 {
			switch err := <-answers["many"]; {
			case err == nil:
				served++
			case errors.Is(err, ErrBusy):
				busy++
			}
		}
		if served != 12 || busy != 38 {
			t.Errorf("%d served, %d turned away", served, busy)
		}
	})
}
