package fakeslack

import (
	"context"
	"fmt"
	"slices"
)

// Answered returns what the person is told privately after a click: through its response_url, or, where the click
// opened a form, after that was submitted with what is written into its inputs, by block_id and action_id.
func (s *Server) Answered(ctx context.Context, user, clickID string, written map[string]map[string]string) (
	[]Ephemeral, error,
) {
	var form View
	err := s.Wait(ctx, func(s *Server) bool {
		views := s.Views()
		n := slices.IndexFunc(views, func(v View) bool { return v.ClickID == clickID })
		if n >= 0 {
			form = views[n]
		}
		return n >= 0 || len(s.Answers(clickID)) > 0
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("wait for an answer to %s, or a form: %w", clickID, err)
	case form.ID == "":
		return s.Answers(clickID), nil
	}
	before := len(s.whispers(user))
	if _, err := s.SubmitView(ctx, SubmitRequest{User: user, ViewID: form.ID, Values: written}); err != nil {
		return nil, err
	}
	if err := s.Wait(ctx, func(s *Server) bool { return len(s.whispers(user)) > before }); err != nil {
		return nil, fmt.Errorf("wait for an answer to form %s: %w", form.ID, err)
	}
	return s.whispers(user)[before:], nil
}

// whispers are the private messages to a person that answer no click.
func (s *Server) whispers(user string) []Ephemeral {
	return slices.DeleteFunc(s.Ephemerals(), func(e Ephemeral) bool { return e.User != user || e.ClickID != "" })
}
