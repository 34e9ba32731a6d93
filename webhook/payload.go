package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Version is the one payload version that Alertmanager sends and this package reads.
const Version = "4"

// What is read of one payload, beside BodyLimit: a body is small for what it can make of a program's memory. Real
// groups are far below.
const (
	maxAlerts = 50_000
	maxPairs  = 1_000 // labels or annotations of one alert
	maxErrors = 20    // that are listed
)

// ErrTooLarge says that a payload is cut off before the end of its first alert.
var ErrTooLarge = errors.New("too large")

// errCut is the error of a reader at the end of what is read of a payload.
var errCut = errors.New("the rest of the payload is not read")

// Decode reads one payload and turns it into a delivery. The error names every error with its JSON path; it never
// repeats the body.
func Decode(body []byte, now time.Time) (incident.Delivery, error) {
	return DecodeFrom(bytes.NewReader(body), now)
}

// DecodeFrom is Decode for a body that is still being read. It never holds more than the bounds allow: texts are
// clipped, and alerts beyond the bounds left out, which the delivery says (Cut). Errors of the reader are wrapped. The
// delivery's sender is what the payload says of it, its external URL. Fields that are not known are ignored, because
// Alertmanager adds some from time to time. Times after now are taken for now, as incident.Alert.AtReceipt says.
func DecodeFrom(r io.Reader, now time.Time) (incident.Delivery, error) {
	d, _, err := decodeFrom(r, now)
	return d, err
}

// decodeFrom is DecodeFrom, and says what the payload told of the time after now.
func decodeFrom(r io.Reader, now time.Time) (incident.Delivery, ahead, error) {
	d := decoders.get(r)
	defer decoders.put(d)
	d.now, d.out = now, incident.Delivery{ReceivedAt: now}
	if err := d.payload(); err != nil {
		if errors.Is(err, errCut) {
			out, err := d.cut()
			return out, d.ahead, err
		}
		return incident.Delivery{}, ahead{}, syntax(err)
	}
	switch _, err := d.json.ReadToken(); {
	case errors.Is(err, io.EOF), errors.Is(err, errCut): // what is not read comes after the whole payload
		out, err := d.result()
		return out, d.ahead, err
	case err == nil || syntactic(err):
		return incident.Delivery{}, ahead{}, errors.New("the body must be one JSON object; something follows it")
	default:
		return incident.Delivery{}, ahead{}, err
	}
}

// cut is what is known of a payload that was not read to its end: the alerts that were whole by then. Alertmanager
// writes the status before the alerts and everything else after them, so the version is not known, nor the group, nor
// the sender. Without them no word about an alert is taken for later than another one but by its times.
func (d *decoder) cut() (incident.Delivery, error) {
	if len(d.out.Alerts) == 0 && len(d.errs) == 0 {
		return incident.Delivery{}, fmt.Errorf("the first alert does not end within what is read of a body: %w", ErrTooLarge)
	}
	if d.version == "" {
		d.version = Version
	}
	if d.status == "" {
		d.status = "firing" // it decides nothing: each alert has its own
	}
	d.out.Cut, d.out.GroupKey, d.out.Sender = true, "", ""
	return d.result()
}

// result checks what cannot be checked before the end.
func (d *decoder) result() (incident.Delivery, error) {
	if d.version != Version {
		return incident.Delivery{},
			fmt.Errorf("$.version: is %.20q; only %q is understood. "+
				"A custom payload in webhook_config cannot be read: remove it", d.version, Version)
	}
	if !status(d.status) {
		d.bad("$.status", "is %.20q, not firing or resolved", d.status)
	}
	if d.alerts == 0 {
		d.bad("$.alerts", "is empty")
	}
	if len(d.errs) > maxErrors {
		d.bad("$.alerts", "has more errors; only the first are listed")
	}
	if err := errors.Join(d.errs...); err != nil {
		return incident.Delivery{}, err
	}
	return d.out, nil
}

// syntax keeps what tells the sender where to look and drops the values of the body.
func syntax(err error) error {
	var syn *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: the body ends too early")
	case errors.As(err, &syn):
		return fmt.Errorf("not JSON: byte %d", syn.ByteOffset+1) // people count from one
	default:
		return err
	}
}

func syntactic(err error) bool {
	var syn *jsontext.SyntacticError
	return errors.As(err, &syn)
}

func status(s string) bool { return s == "firing" || s == "resolved" }

func fingerprint(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 16
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
