package slack

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"time"
)

// bodyRoom is how many bytes of requests whose signature is not known yet are kept at a time, all together: everybody
// who reaches the door can send them. A click has some ten thousand.
const bodyRoom = 32 << 20

// firstPiece is what room is taken for before anything of a body has arrived.
const firstPiece = 4 << 10

var errCrowded = errors.New("too many requests at once")

// readBody reads a body as far as there is room, and as long as it may take. The room is given back by leave, which is
// to be called when the body is not needed any more, also after an error.
func (i *Interactions) readBody(w http.ResponseWriter, r *http.Request) (body []byte, leave func(), err error) {
	taken := int64(0)
	leave = func() { i.room.Release(taken) }
	// A server that cannot end a read has a limit of its own, which is longer. What is done with the body takes its time.
	answer := http.NewResponseController(w)
	_ = answer.SetReadDeadline(time.Now().Add(i.cfg.BodyWithin))
	defer func() { _ = answer.SetReadDeadline(time.Time{}) }()
	from := http.MaxBytesReader(w, r.Body, maxBody)
	for {
		piece := max(firstPiece, len(body))
		if !i.room.TryAcquire(int64(piece)) {
			return nil, leave, errCrowded
		}
		taken += int64(piece)
		body = slices.Grow(body, piece)
		n, err := io.ReadFull(from, body[len(body):len(body)+piece])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && r.ContentLength <= int64(len(body)):
			return body, leave, nil
		case err != nil:
			return nil, leave, err
		}
	}
}
