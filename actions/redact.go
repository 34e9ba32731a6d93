package actions

import (
	"errors"
	"strings"
)

// redacted is an error of the API server without the secrets that stand in the object. It does not unwrap to the real one.
type redacted struct {
	text string
	real error
}

// Error is the text that may be shown.
func (r redacted) Error() string { return r.text }

// Is lets callers tell a time-out from an answer.
func (r redacted) Is(target error) bool { return errors.Is(r.real, target) }

// said is what the API server answered, with the object's secrets taken out: its messages may repeat any part of the object.
func (l live) said(err error) error {
	text := err.Error()
	for _, s := range l.secrets {
		text = strings.ReplaceAll(text, s, "[redacted]")
	}
	return redacted{text: text, real: err}
}
