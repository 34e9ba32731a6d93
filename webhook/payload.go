package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/template"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Version is the one payload version that Alertmanager sends and this package reads.
const Version = "4"

// Payload is Alertmanager's webhook message. Data is embedded by value: Alertmanager's own type embeds a pointer, which "null" leaves nil.
// Fields that are not known are ignored, because Alertmanager adds some from time to time.
type Payload struct {
	template.Data

	Version         string `json:"version"`
	GroupKey        string `json:"groupKey"`
	TruncatedAlerts uint64 `json:"truncatedAlerts"`
}

var fingerprint = regexp.MustCompile(`^[0-9a-f]{16}$`)

// Decode reads one payload and turns it into a delivery. The error names every mistake with its JSON path; it never repeats the body.
func Decode(body []byte, now time.Time) (incident.Delivery, error) {
	var p Payload
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&p); err != nil {
		return incident.Delivery{}, syntax(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return incident.Delivery{}, errors.New("the body must be one JSON object; something follows it")
	}
	if err := p.validate(); err != nil {
		return incident.Delivery{}, err
	}
	return p.delivery(now), nil
}

// syntax keeps what tells the sender where to look and drops the values of the body.
func syntax(err error) error {
	var typ *json.UnmarshalTypeError
	var syn *json.SyntaxError
	switch {
	case errors.As(err, &typ):
		return fmt.Errorf("%s: a JSON %s cannot be read here", path(typ.Field), typ.Value)
	case errors.As(err, &syn):
		return fmt.Errorf("not JSON: byte %d", syn.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: the body ends too early")
	default:
		return errors.New("not an Alertmanager payload: a time or a label cannot be read")
	}
}

func path(field string) string {
	if field == "" {
		return "$"
	}
	return "$." + strings.TrimPrefix(field, "Data.")
}

func (p Payload) validate() error {
	var errs []error
	bad := func(path, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
	}
	if p.Version != Version {
		bad("$.version", "is %.20q; only %q is understood. A custom payload in webhook_config cannot be read: remove it", p.Version, Version)
		return errors.Join(errs...)
	}
	if !status(p.Status) {
		bad("$.status", "is %.20q, not firing or resolved", p.Status)
	}
	if len(p.Alerts) == 0 {
		bad("$.alerts", "is empty")
	}
	for n, a := range p.Alerts {
		at := fmt.Sprintf("$.alerts[%d]", n)
		if !status(a.Status) {
			bad(at+".status", "is %.20q, not firing or resolved", a.Status)
		}
		if !fingerprint.MatchString(a.Fingerprint) {
			bad(at+".fingerprint", "is not 16 hexadecimal digits")
		}
		if len(a.Labels) == 0 {
			bad(at+".labels", "is empty")
		}
		if a.StartsAt.IsZero() {
			bad(at+".startsAt", "is missing")
		}
		if len(errs) > 20 {
			bad("$.alerts", "has more mistakes; only the first are listed")
			break
		}
	}
	return errors.Join(errs...)
}

func status(s string) bool { return s == "firing" || s == "resolved" }

func (p Payload) delivery(now time.Time) incident.Delivery {
	d := incident.Delivery{
		ReceivedAt: now, Receiver: unquoteMeta(p.Receiver), GroupKey: p.GroupKey, Truncated: p.TruncatedAlerts, Reason: p.NotificationReason,
		Alerts: make([]incident.Alert, len(p.Alerts)),
	}
	for n, a := range p.Alerts {
		d.Alerts[n] = incident.Alert{
			Fingerprint: a.Fingerprint, Labels: a.Labels, Annotations: a.Annotations, Firing: a.Status == "firing",
			StartsAt: a.StartsAt, GeneratorURL: a.GeneratorURL, SeenAt: now,
		}
		if !d.Alerts[n].Firing {
			// Firing alerts always carry a zero endsAt, so it says nothing about them.
			d.Alerts[n].EndsAt = a.EndsAt
		}
	}
	return d
}

// unquoteMeta undoes regexp.QuoteMeta, in which Alertmanager sends the receiver's name.
func unquoteMeta(s string) string {
	var b strings.Builder
	for n := 0; n < len(s); n++ {
		if s[n] == '\\' && n+1 < len(s) && strings.IndexByte(`\.+*?()|[]{}^$`, s[n+1]) >= 0 {
			n++
		}
		b.WriteByte(s[n])
	}
	return b.String()
}
