package webhook

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/semaphore"
)

// A body is large beyond smallBody. Large ones share largeRoom, small ones smallRoom, so that a few large ones neither
// fill the memory nor hold up the others: a body takes several times its size until it is stored.
const (
	smallBody = 256 << 10
	smallRoom = 32 << 20
	largeRoom = 2 * BodyLimit
)

// roomWait is how long a large body waits, unread, for those before it.
const roomWait = 5 * time.Second

// errBusy is not the sender's fault: Alertmanager sends it again.
var errBusy = errors.New("other large deliveries are being read; send it again")

// room bounds the bytes of the bodies that are being read and stored.
type room struct{ small, large *semaphore.Weighted }

func newRoom() *room {
	return &room{small: semaphore.NewWeighted(smallRoom), large: semaphore.NewWeighted(largeRoom)}
}

// admitted reads a request's body in the room that there is for it. Its error stays in err.
type admitted struct {
	ctx  context.Context
	from io.Reader
	room *room

	held *semaphore.Weighted
	size int64
	read int64
	err  error
}

// admit takes room for a body of this length; of one that does not say its length as much as for a small one, and more
// when it turns out to be large.
func (b *admitted) admit(length int64) error {
	if length > smallBody {
		return b.takeLarge(length)
	}
	if length < 0 {
		length = smallBody
	}
	if !b.room.small.TryAcquire(length) {
		return errBusy
	}
	b.held, b.size = b.room.small, length
	return nil
}

func (b *admitted) takeLarge(size int64) error {
	b.release()
	ctx, cancel := context.WithTimeout(b.ctx, roomWait)
	defer cancel()
	if err := b.room.large.Acquire(ctx, size); err != nil {
		return errBusy
	}
	b.held, b.size = b.room.large, size
	return nil
}

func (b *admitted) release() {
	if b.held != nil {
		b.held.Release(b.size)
		b.held = nil
	}
}

// limited reads so many bytes, and then answers errCut where there are more.
type limited struct {
	from io.Reader
	left int64
}

// Read reads what is left.
func (l *limited) Read(p []byte) (int, error) {
	if l.left == 0 {
		if n, err := l.from.Read(p[:min(1, len(p))]); n == 0 {
			return 0, err
		}
		return 0, errCut
	}
	n, err := l.from.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// Read reads on while there is room.
func (b *admitted) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.read > smallBody && b.held == b.room.small {
		if b.err = b.takeLarge(BodyLimit); b.err != nil {
			return 0, b.err
		}
	}
	n, err := b.from.Read(p)
	b.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}
