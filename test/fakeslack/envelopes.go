package fakeslack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// maxAck is the size from which Slack drops what a bot writes to a connection.
const maxAck = 20 << 10

// ack is what a bot answered to an envelope.
type ack struct{ body []byte }

// readSocket takes acknowledgements until the connection ends.
func (s *Server) readSocket(c *socket) {
	for {
		kind, raw, err := c.conn.ReadMessage()
		if err != nil {
			return // it was closed, or nobody answered the pings
		}
		if bad := s.takeAck(c, kind, raw); bad != "" {
			s.noteUnexpected("socket: " + bad)
		}
	}
}

// takeAck hands an acknowledgement to the click that waits for it, and says what is wrong with it.
func (s *Server) takeAck(c *socket, kind int, raw []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.dead {
		return "" // it got lost on the way
	}
	var got struct {
		ID      string          `json:"envelope_id"`
		Payload json.RawMessage `json:"payload"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	switch {
	case kind != websocket.TextMessage:
		return "a message that is not text"
	case len(raw) >= maxAck:
		return fmt.Sprintf("a message of %d bytes, which Slack drops", len(raw))
	case dec.Decode(&got) != nil || dec.More():
		return fmt.Sprintf("a message that is no acknowledgement: %.100q", raw)
	}
	answered, known := c.waiting[got.ID]
	what, late := c.past[got.ID]
	switch {
	case known:
	case late && what == "":
		return "" // too late, which the person has seen
	case late:
		return fmt.Sprintf("envelope %s was acknowledged before", what)
	default:
		// Whether Slack takes the acknowledgement of one connection's envelope on another is not documented.
		return fmt.Sprintf("an acknowledgement of the unknown envelope %.60q", got.ID)
	}
	delete(c.waiting, got.ID)
	c.past[got.ID] = got.ID
	if string(got.Payload) == "null" {
		got.Payload = nil
	}
	answered <- ack{body: got.Payload}
	return ""
}

// deliverEnvelope sends a payload to one connection, whose turn it is, and waits for the acknowledgement.
func (s *Server) deliverEnvelope(ctx context.Context, sent *sentClick) (ClickResult, error) {
	id := fmt.Sprintf("%s-%s", sent.result.ID, randomHex(8))
	kind, accepts := sent.envelope()
	s.mu.Lock()
	result := sent.result
	if sent.forged {
		s.mu.Unlock()
		return result, fmt.Errorf("%w: nothing is signed in Socket Mode", ErrNotVisible)
	}
	if len(s.sockets.open) == 0 {
		s.mu.Unlock()
		return result, fmt.Errorf("%w: the app has no connection", ErrNoAnswer)
	}
	s.sockets.next++
	c := s.sockets.open[s.sockets.next%len(s.sockets.open)]
	answered := make(chan ack, 1)
	c.waiting[id] = answered
	s.mu.Unlock()

	start := time.Now()
	s.sendJSON(c, answer{
		"envelope_id": id, "type": kind, "accepts_response_payload": accepts, "payload": json.RawMessage(sent.payload),
	})
	got, err := s.awaitAck(ctx, c, id, answered)
	result.Took = time.Since(start)
	// Bolt says nothing with an empty object.
	if string(got.body) == "{}" {
		got.body = nil
	}
	if err == nil {
		result.Status, result.Body = http.StatusOK, string(got.body)
	}
	s.mu.Lock()
	sent.result = result
	s.changed()
	s.mu.Unlock()
	switch {
	case err != nil:
		return result, err
	case len(got.body) > 0 && !accepts:
		s.noteUnexpected("socket: a payload in the acknowledgement of an envelope that takes none")
		return result, fmt.Errorf("%w: it takes no payload", ErrRefused)
	}
	return result, nil
}

func (s *Server) awaitAck(ctx context.Context, c *socket, id string, answered <-chan ack) (ack, error) {
	within := s.opts.ClickWithin
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no acknowledgement within %s", within))
	defer cancel()
	select {
	case got, ok := <-answered:
		if !ok {
			return ack{}, fmt.Errorf("%w: %w", ErrNoAnswer, errors.New("the connection ended"))
		}
		return got, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := c.waiting[id]; open {
		delete(c.waiting, id)
		c.past[id] = ""
	}
	return ack{}, fmt.Errorf("%w: %w", ErrNoAnswer, context.Cause(ctx))
}

// envelope returns the type of the envelope of a payload, and whether its acknowledgement may carry an answer.
func (c *sentClick) envelope() (kind string, accepts bool) {
	var p struct{ Type string }
	switch err := json.Unmarshal(c.payload, &p); {
	case err != nil || p.Type == "":
		return "slash_commands", true
	default:
		return "interactive", p.Type == "view_submission"
	}
}
