package machine

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func unsaid(time.Duration, bool) {}

func TestNeverMoreThanAllPlacesAreTakenAndEverybodyGetsTheirs(t *testing.T) {
	t.Parallel()
	const all = 4
	dir := t.TempDir()
	var taken, most atomic.Int64
	var wg sync.WaitGroup
	for n := range 8 {
		places := 1 + n%3
		wg.Go(func() {
			held, err := reserve(dir, places, all, unsaid)
			if err != nil {
				t.Error(err)
				return
			}
			now := taken.Add(int64(places))
			for {
				before := most.Load()
				if now <= before || most.CompareAndSwap(before, now) {
					break
				}
			}
			taken.Add(-int64(places))
			if err := closeAll(held); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() > all {
		t.Errorf("%d places were taken at a time, of %d", most.Load(), all)
	}
}

// A package that needs almost everything must not wait until nobody else has anything to do.
func TestWhoNeedsManyPlacesIsNotOvertaken(t *testing.T) {
	t.Parallel()
	const all = 2
	dir := t.TempDir()
	first, err := reserve(dir, 1, all, unsaid)
	if err != nil {
		t.Fatal(err)
	}
	waits, got, passed := make(chan struct{}), make(chan []*os.File), make(chan []*os.File)
	take := func(places int, waits chan struct{}, got chan []*os.File) {
		var once sync.Once
		held, err := reserve(dir, places, all, func(_ time.Duration, over bool) {
			if !over {
				once.Do(func() { close(waits) })
			}
		})
		if err != nil {
			t.Error(err)
		}
		got <- held
	}
	go take(all, waits, got)
	<-waits
	behind := make(chan struct{})
	go take(1, behind, passed)
	<-behind // although a place is free
	if err := closeAll(first); err != nil {
		t.Fatal(err)
	}
	select {
	case held := <-got:
		if err := closeAll(held); err != nil {
			t.Error(err)
		}
	case <-passed:
		t.Fatal("the one that came later was served first")
	}
	if err := closeAll(<-passed); err != nil {
		t.Error(err)
	}
}

func TestAProcessReservesOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var r reservation
	for _, places := range []int{1, 2} {
		if err := r.take(dir, places, 2, unsaid); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.held) != 1 {
		t.Errorf("it has %d places, want 1", len(r.held))
	}
	if err := closeAll(r.held); err != nil {
		t.Error(err)
	}
}

// Another checkout has places of its own: a run of it, maybe one that hangs, holds nobody up.
func TestAnotherCheckoutHasItsOwnPlaces(t *testing.T) {
	places := map[string]bool{}
	for range 2 {
		checkout := t.TempDir()
		if err := os.WriteFile(filepath.Join(checkout, "go.mod"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{checkout, filepath.Join(checkout, "test", "crash")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			of, err := placesFolder()
			if err != nil {
				t.Fatal(err)
			}
			places[of] = true
		}
	}
	if len(places) != 2 {
		t.Errorf("two checkouts have these places: %v", places)
	}
}
