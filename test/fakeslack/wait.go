package fakeslack

import (
	"context"
	"fmt"
)

// Wait returns when done holds or with the reason why ctx ended. done is asked
// again after every change and may call any method of the Server.
func (s *Server) Wait(ctx context.Context, done func(*Server) bool) error {
	for {
		s.mu.Lock()
		signal := s.changeSignal
		s.mu.Unlock()
		if done(s) {
			return nil
		}
		select {
		case <-signal:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// WaitMessage returns the first top-level message of a channel for which match holds.
func (s *Server) WaitMessage(ctx context.Context, channel string, match func(Message) bool) (Message, error) {
	var hit Message
	err := s.Wait(ctx, func(s *Server) bool {
		for _, m := range s.Messages(channel) {
			if match(m) {
				hit = m
				return true
			}
		}
		return false
	})
	if err != nil {
		return hit, fmt.Errorf("wait for a message in %s, which has %d: %w", channel, len(s.Messages(channel)), err)
	}
	return hit, nil
}

// WaitAnswers returns the private answers to a click as soon as there are n.
func (s *Server) WaitAnswers(ctx context.Context, clickID string, n int) ([]Ephemeral, error) {
	err := s.Wait(ctx, func(s *Server) bool { return len(s.Answers(clickID)) >= n })
	answers := s.Answers(clickID)
	if err != nil {
		return answers, fmt.Errorf("wait for %d answers to %s, there are %d: %w", n, clickID, len(answers), err)
	}
	return answers, nil
}
