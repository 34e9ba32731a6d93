// Package machine shares one machine among the test processes of a checkout. A test that starts a control plane or a
// whole scenario needs a part of it; when too many of them run at once, scrapes and rollouts come late and every wait
// gets longer. So each process reserves its places, and waits while others have them.
package machine

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// What a process needs of Places.
const (
	// Cluster is for a package whose tests share a Kubernetes control plane, or start one after the other.
	Cluster = 1
	// Fleet is for a package that runs several whole scenarios at a time: the bot, Prometheus and what they look at.
	Fleet = 3
)

// Places are how many there are on this machine: four on two cores, where most of what waits for a place waits for
// rollouts and scrapes later on, too.
func Places() int { return 2 * max(2, runtime.NumCPU()) }

// AtOnce lets so many of the package's parallel tests run at a time, for tests that wait more than they compute. A
// flag -parallel of the command line is stronger. It is called in TestMain.
func AtOnce(n int) error {
	if !flag.Parsed() {
		flag.Parse()
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(n))
}

// Reserve waits until so many places are free, takes them until this process ends, and says so when it has to wait.
// Only the first call of a process counts: one that asked for more while it has some could wait for ever for another
// one that does the same. A small run starts nothing that would need a place, and takes none.
func Reserve(places int) error {
	if run, err := size.OfRun(); err != nil || run == size.Small {
		return err
	}
	dir, err := placesFolder()
	if err == nil {
		err = own.take(dir, min(places, Places()), Places(), told())
	}
	if err != nil {
		return fmt.Errorf("reserve %d places for tests on this machine: %w", places, err)
	}
	return nil
}

// own is what this process has.
var own reservation

type reservation struct {
	mu   sync.Mutex
	held []*os.File
}

func (r *reservation) take(dir string, places, all int, say func(waited time.Duration, over bool)) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.held) == 0 {
		r.held, err = reserve(dir, places, all, say)
	}
	return err
}

// placesFolder is one for each checkout and user: no other run may be able to hold a test up.
func placesFolder() (string, error) {
	checkout, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(checkout, "go.mod")); err == nil {
			break
		}
		above := filepath.Dir(checkout)
		if above == checkout {
			return "", errors.New("no folder above this one has a go.mod")
		}
		checkout = above
	}
	sum := sha256.Sum256([]byte(checkout))
	return filepath.Join(os.TempDir(), fmt.Sprintf("vllm-medic-tests-%d-%x", os.Getuid(), sum[:6])), nil
}

// told says once that the process waits, and at last for how long it did. go test shows it with the package's result.
func told() func(waited time.Duration, over bool) {
	said := false
	return func(waited time.Duration, over bool) {
		switch {
		case !over && !said:
			said = true
			fmt.Fprintln(os.Stderr, "waiting for other tests on this machine to end")
		case over && said:
			fmt.Fprintf(os.Stderr, "waited %v for other tests on this machine\n", waited.Round(time.Second))
		}
	}
}

// poll is how often a process that waits looks for places.
const poll = 200 * time.Millisecond

// reserve locks so many of the files in dir that stand for all places. The locks end with the files, and so with the
// process. Who waits holds the queue, so that whoever needs many places is not overtaken for ever.
func reserve(dir string, places, all int, say func(waited time.Duration, over bool)) (held []*os.File, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	begin := time.Now()
	var queue []*os.File
	defer func() {
		err = errors.Join(err, closeAll(queue))
		if err != nil {
			err = errors.Join(err, closeAll(held))
			held = nil
		}
	}()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		if len(queue) == 0 {
			if queue, err = lockMore(queue, 1, filepath.Join(dir, "queue")); err != nil {
				return held, err
			}
		}
		for n := 0; n < all && len(queue) > 0 && len(held) < places; n++ {
			if held, err = lockMore(held, places, filepath.Join(dir, fmt.Sprintf("place-%d", n))); err != nil {
				return held, err
			}
		}
		if len(held) == places {
			say(time.Since(begin), true)
			return held, nil
		}
		say(time.Since(begin), false)
		<-tick.C
	}
}

// lockMore adds the file to the locked ones, if they are fewer than most and nobody has it.
func lockMore(locked []*os.File, most int, path string) ([]*os.File, error) {
	for _, f := range locked {
		if f.Name() == path {
			return locked, nil
		}
	}
	if len(locked) >= most {
		return locked, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // in the folder of the tests
	if err != nil {
		return locked, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return append(locked, f), nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return locked, f.Close()
	default:
		return locked, errors.Join(err, f.Close())
	}
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
