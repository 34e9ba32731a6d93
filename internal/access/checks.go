package access

import (
	"errors"
	"sync"
)

// ErrBusy says that nobody has looked at the credentials: too many are being checked. Try again in a few seconds.
var ErrBusy = errors.New("too many credentials are being checked right now; try again in a few seconds")

// How many credentials are checked at the same time: those that came from one address, and all. Whoever can reach the
// bot can show it anything, and each check costs questions to the API server, which come one after another. So they are
// few enough to be over well before the timeout of the last in line.
const (
	checksOfOne = 8
	checksOfAll = 4 * checksOfOne
)

// checks counts what is being checked. The zero value is ready.
type checks struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

// begin takes a place, or answers ErrBusy at once: who waited in line here would keep others waiting. end gives the
// place back and is called once.
func (c *checks) begin(from string) (end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= checksOfAll || c.of[from] >= checksOfOne {
		return nil, ErrBusy
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.all++
	c.of[from]++
	return func() { c.end(from) }, nil
}

func (c *checks) end(from string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.of[from]--; c.of[from] == 0 {
		delete(c.of, from)
	}
}
