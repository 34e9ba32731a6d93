package app

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/connlimit"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// What a check of credentials found.
const (
	answerAllowed   = "allowed"
	answerMissing   = "missing"
	answerMalformed = "malformed"
	answerUnknown   = "unauthenticated"
	answerForbidden = "forbidden"
	answerBusy      = "busy"
	answerGone      = "gone"
	answerUnchecked = "unchecked"
)

// door is the gate of the API and the pages: it says who counts as one sender, counts and logs what is refused, and
// notes on the connection that its credentials were good.
type door struct {
	gate *access.Gate
	// answers counts the checks by what they found.
	answers *prometheus.CounterVec
	log     *sparing
}

func newDoor(gate *access.Gate, log *sparing) *door {
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vllm_medic_access_checks_total",
		Help: "Checks of credentials for the API and the web pages, by what they found.",
	}, []string{"answer"})
	for _, answer := range []string{
		answerAllowed, answerMissing, answerMalformed, answerUnknown, answerForbidden, answerBusy, answerGone,
		answerUnchecked,
	} {
		answers.WithLabelValues(answer) // a rule sees the first one only when there was a 0 before
	}
	return &door{gate: gate, answers: answers, log: log}
}

// Check is that of the gate.
func (d *door) Check(ctx context.Context, shown access.Shown, right access.Right) (incident.Actor, error) {
	shown.From = connlimit.Sender(shown.From)
	who, err := d.gate.Check(ctx, shown, right)
	answer := answered(ctx, shown, err)
	d.answers.WithLabelValues(answer).Inc()
	switch answer {
	case answerAllowed:
		connlimit.Proved(ctx)
	case answerMissing, answerGone: // a browser asks without a password first, and whoever has gone reads no answer
	default:
		d.log.warn(ctx, answer, "credentials for the API or the web pages were refused", "answer", answer, "err", err,
			"address", shown.From)
	}
	return who, err
}

func answered(ctx context.Context, shown access.Shown, err error) string {
	switch {
	case err == nil:
		return answerAllowed
	case shown.Token == "" && len(shown.Chain) == 0:
		return answerMissing
	case errors.Is(err, access.ErrMalformed):
		return answerMalformed
	case errors.Is(err, access.ErrUnauthenticated):
		return answerUnknown
	case errors.Is(err, access.ErrForbidden):
		return answerForbidden
	case errors.Is(err, access.ErrBusy):
		return answerBusy
	case ctx.Err() != nil:
		return answerGone
	}
	return answerUnchecked
}
