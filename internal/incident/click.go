package incident

import (
	"fmt"
	"time"
)

// Click is an interaction whose origin has been proven, as it is kept until it is handled. Its payload is a secret: it
// holds a response URL.
type Click struct {
	ID         int64
	ReceivedAt time.Time
	Payload    []byte `json:"-"`
	// Fence proves the claim. It counts the claims on this click, from 1.
	Fence int64
}

// String leaves the payload out.
func (c Click) String() string { return fmt.Sprintf("click %d", c.ID) }

// GoString leaves the payload out.
func (c Click) GoString() string { return c.String() }
