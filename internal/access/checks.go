package access

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"

	"github.com/vllm-medic/vllm-medic/internal/answer"
)

// Anybody who can reach the bot can show it anything, and each check costs the API server questions. So checks have a
// bounded number of places, in lanes of their own: what nobody knows keeps nobody waiting who was let in lately, and
// what is aimed at decisions keeps nobody from pausing. Within a lane each sender has its turn.

// wait is how long a check waits for a place. With the questions themselves and a pause that waits for writes it stays
// below the listener's timeout for an answer.
const wait = 5 * time.Second

// strangersTimeout bounds the questions about what nobody knows; timeout bounds those about the others.
const strangersTimeout = 5 * time.Second

// A lane asks the API server that many questions a second, which costs it a fraction of a core. It must be so many that
// a flood through one proxy, whose sender nobody can tell from others behind it, is answered within wait.
const (
	laneQPS   = 200
	laneBurst = 200
)

// waitingOfLane bounds who waits for one lane.
const waitingOfLane = 4096

// recognizedMost is how many credentials are remembered as good.
const recognizedMost = 1024

// lane checks a bounded number of credentials at the same time.
type lane struct {
	*queue
	// client has a limit of questions of its own.
	client kubernetes.Interface
	within time.Duration
}

// checks are the lanes.
type checks struct {
	// strangers are tokens that nobody knows, recognized those that were good lately; those that want to pause have
	// theirs. certificates cost no question until they are known to be of the cluster.
	strangers, strangersPause, recognized, recognizedPause, certificates lane
	// good are the hashes of credentials that were let in, the latest ones. It says who goes first and nothing else.
	good *lru.Cache
}

// newChecks makes the lanes with their numbers of places: of all, and of one sender.
func newChecks(rc *rest.Config) (*checks, error) {
	c := &checks{good: lru.New(recognizedMost)}
	for _, l := range []struct {
		lane          *lane
		places, ofOne int
		within        time.Duration
	}{
		{&c.strangers, 64, 16, strangersTimeout},
		{&c.strangersPause, 32, 16, strangersTimeout},
		{&c.recognized, 16, 4, timeout},
		{&c.recognizedPause, 8, 4, timeout},
		{&c.certificates, 16, 4, timeout},
	} {
		client, err := limited(rc, laneQPS, laneBurst)
		if err != nil {
			return nil, err
		}
		*l.lane = lane{queue: newQueue(l.places, l.ofOne, waitingOfLane), client: client, within: l.within}
	}
	return c, nil
}

// limited is a client with a limiter of its own.
func limited(rc *rest.Config, qps float32, burst int) (kubernetes.Interface, error) {
	rc = rest.CopyConfig(rc)
	rc.QPS, rc.Burst = qps, burst
	rc.Wrap(answer.OfKubernetes)
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("access: kubernetes client: %w", err)
	}
	return client, nil
}

// mark is the hash of a credential. The credential itself is never kept.
type mark [sha256.Size]byte

func markOf(s Shown) mark {
	if s.Token != "" {
		return sha256.Sum256([]byte(s.Token))
	}
	return sha256.Sum256(s.Chain[0].Raw)
}

// enter takes a place in the lane of a credential. leave gives it back and is called once. The error is ErrBusy, or
// that of a caller who has gone.
func (c *checks) enter(ctx context.Context, s Shown, right Right) (in lane, leave func(), err error) {
	m := markOf(s)
	_, known := c.good.Get(m)
	in, key := c.strangers, "from "+s.From
	switch pause := right == Pause; {
	case known && pause:
		in, key = c.recognizedPause, "credential "+string(m[:])
	case known:
		in, key = c.recognized, "credential "+string(m[:])
	case s.Token == "":
		in = c.certificates
	case pause:
		in = c.strangersPause
	}
	leave, err = in.enter(ctx, key, wait)
	return in, leave, err
}

// remember notes that a credential was let in, or that the API server knows it no longer.
func (c *checks) remember(s Shown, good bool) {
	if good {
		c.good.Add(markOf(s), struct{}{})
		return
	}
	c.good.Remove(markOf(s))
}
