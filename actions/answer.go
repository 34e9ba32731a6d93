package actions

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// longest bounds what is repeated of the API server's messages, in bytes.
const longest = 600

// redacted is an error of the API server that may be shown. It does not unwrap to the real one.
type redacted struct {
	text string
	real error
}

// Error is the text that may be shown.
func (r redacted) Error() string { return r.text }

// Is lets callers tell a time-out from an answer.
func (r redacted) Is(target error) bool { return errors.Is(r.real, target) }

// withoutSecrets is what the API server answered, without the secrets of the object: its messages may repeat any part
// of the object.
func withoutSecrets(err error, secrets []string) error {
	text := redact.Without(message(err), secrets...)
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + " ..."
	}
	return redacted{text: text, real: err}
}

// message is the error's text. When a patched object cannot be decoded the API server repeats the whole object, which
// is left out (k8s.io/apiserver pkg/endpoints/handlers/patch.go, applyPatchToCurrentObject).
func message(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return err.Error()
	}
	for _, c := range status.Status().Details.Causes {
		if c.Field == "patch" {
			why := strings.LastIndex(c.Message, `": `)
			if why < 0 {
				return "the changed object cannot be read"
			}
			return "the changed object cannot be read: " + c.Message[why+len(`": `):]
		}
	}
	return err.Error()
}
