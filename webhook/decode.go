package webhook

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/alertmanager/template"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// decoder reads one payload token by token. It is used for one after the other.
type decoder struct {
	json *jsontext.Decoder
	now  time.Time

	out             incident.Delivery
	version, status string
	alerts          int
	ahead           ahead
	errs            []error

	pairs []pair
	names map[string]string
}

type pair struct{ name, value string }

// namesKept bounds how many different names of labels are remembered, so that each is in memory once.
const namesKept = 1024

var decoders decoderPool

type decoderPool struct{ free sync.Pool }

func (p *decoderPool) get(r io.Reader) *decoder {
	d, ok := p.free.Get().(*decoder)
	if !ok {
		d = &decoder{json: &jsontext.Decoder{}, names: map[string]string{}}
	}
	d.json.Reset(r, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return d
}

func (p *decoderPool) put(d *decoder) {
	if d.json.InputOffset() > smallBody {
		return // it has grown with what it read
	}
	d.out, d.version, d.status, d.alerts, d.ahead, d.errs = incident.Delivery{}, "", "", 0, ahead{}, nil
	clear(d.pairs)
	p.free.Put(d)
}

func (d *decoder) bad(path, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
}

// where is the place of a value in a payload. Its path is only written when there is something to say about it.
type where struct {
	alert       int // from 1; 0 outside of alerts
	field, name string
}

func (w where) at(field string) where { w.field = field; return w }

func (w where) of(name string) where { w.name = name; return w }

// String is the JSON path.
func (w where) String() string {
	out := "$"
	if w.alert > 0 {
		out += ".alerts[" + strconv.Itoa(w.alert-1) + "]"
	}
	if w.field != "" {
		out += "." + w.field
	}
	if w.name != "" {
		out += "." + w.name
	}
	return out
}

// object calls field for each member of an object; null has none. It must read the value.
func (d *decoder) object(path where, field func(name []byte) error) error {
	if there, err := d.there('{', path); !there {
		return err
	}
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for d.json.PeekKind() != '}' {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		if err := field(name); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// there says whether a value of that kind comes next. null is skipped, and stands for nothing; anything else is an
// error.
func (d *decoder) there(want jsontext.Kind, path where) (bool, error) {
	kind := d.json.PeekKind()
	if kind == want {
		return true, nil
	}
	if kind == jsontext.KindNull {
		return false, d.json.SkipValue()
	}
	return false, d.mismatch(path)
}

// mismatch says what stands where something else is expected.
func (d *decoder) mismatch(path where) error {
	kind := map[jsontext.Kind]string{
		'{': "object", '[': "array", '"': "string", '0': "number", 't': "boolean",
		'f': "boolean", 'n': "null",
	}[d.json.PeekKind()]
	if kind == "" { // not JSON: reading says where
		_, err := d.json.ReadToken()
		return err
	}
	return fmt.Errorf("%s: a JSON %s cannot be read here", path, kind)
}

// raw reads a string as it stands, or "" for null.
func (d *decoder) raw(path where) (jsontext.Value, error) {
	if there, err := d.there('"', path); !there {
		return nil, err
	}
	return d.json.ReadValue()
}

func (d *decoder) text(path where, into *string) error {
	v, err := d.raw(path)
	if err == nil {
		*into = unquote(v)
	}
	return err
}

func unquote(v jsontext.Value) string {
	if len(v) < 2 {
		return ""
	}
	if bytes.IndexByte(v, '\\') < 0 && ascii(v) {
		return string(v[1 : len(v)-1])
	}
	out, _ := jsontext.AppendUnquote(nil, v) // its one error is text that is not UTF-8, in whose place it puts U+FFFD
	return string(out)
}

func ascii(v []byte) bool {
	for _, c := range v {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func (d *decoder) time(path where, into *time.Time) error {
	v, err := d.raw(path)
	if err != nil || v == nil {
		return err
	}
	if err := into.UnmarshalJSON(v); err != nil {
		return fmt.Errorf("%s: is not a time", path)
	}
	return nil
}

func (d *decoder) payload() error {
	return d.object(where{field: ""}, func(name []byte) error {
		switch string(name) {
		case `"version"`:
			return d.text(where{field: "version"}, &d.version)
		case `"status"`:
			return d.text(where{field: "status"}, &d.status)
		case `"groupKey"`:
			err := d.text(where{field: "groupKey"}, &d.out.GroupKey)
			d.out.GroupKey = clipName(d.out.GroupKey)
			return err
		case `"receiver"`:
			err := d.text(where{field: "receiver"}, &d.out.Receiver)
			d.out.Receiver = clipName(unquoteMeta(d.out.Receiver))
			return err
		case `"notification_reason"`:
			err := d.text(where{field: "notification_reason"}, &d.out.Reason)
			d.out.Reason = clipNote(d.out.Reason, mostText)
			return err
		case `"externalURL"`:
			return d.text(where{field: "externalURL"}, &d.out.Sender)
		case `"truncatedAlerts"`:
			return d.count(where{field: "truncatedAlerts"}, &d.out.Truncated)
		case `"alerts"`:
			return d.list()
		default:
			return d.json.SkipValue()
		}
	})
}

func (d *decoder) count(path where, into *uint64) error {
	if there, err := d.there('0', path); !there {
		return err
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return err
	}
	if *into, err = strconv.ParseUint(string(v), 10, 64); err != nil {
		return fmt.Errorf("%s: is not a count", path)
	}
	return nil
}

func (d *decoder) list() error {
	d.out.Alerts, d.alerts, d.ahead = nil, 0, ahead{}
	if there, err := d.there('[', where{field: "alerts"}); !there {
		return err
	}
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for ; d.json.PeekKind() != ']'; d.alerts++ {
		// Beyond the bound they are read over. When too much is wrong, that is known; only the version may still tell why.
		d.out.Cut = d.alerts >= maxAlerts
		if d.out.Cut || len(d.errs) > maxErrors {
			if err := d.json.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if err := d.alert(d.alerts); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

func (d *decoder) alert(n int) error {
	here := where{alert: n + 1}
	var a template.Alert
	err := d.object(here, func(name []byte) error {
		switch string(name) {
		case `"status"`:
			return d.text(here.at("status"), &a.Status)
		case `"labels"`:
			return d.texts(here.at("labels"), (*map[string]string)(&a.Labels))
		case `"annotations"`:
			return d.texts(here.at("annotations"), (*map[string]string)(&a.Annotations))
		case `"startsAt"`:
			return d.time(here.at("startsAt"), &a.StartsAt)
		case `"endsAt"`:
			return d.time(here.at("endsAt"), &a.EndsAt)
		case `"generatorURL"`:
			return d.text(here.at("generatorURL"), &a.GeneratorURL)
		case `"fingerprint"`:
			return d.text(here.at("fingerprint"), &a.Fingerprint)
		default:
			return d.json.SkipValue()
		}
	})
	if err != nil {
		return err
	}
	if !status(a.Status) {
		d.bad(here.at("status").String(), "is %.20q, not firing or resolved", a.Status)
	}
	if !fingerprint(a.Fingerprint) {
		d.bad(here.at("fingerprint").String(), "is not 16 hexadecimal digits")
	}
	if len(a.Labels) == 0 {
		d.bad(here.at("labels").String(), "is empty")
	}
	if a.StartsAt.IsZero() {
		d.bad(here.at("startsAt").String(), "is missing")
	}
	out := incident.Alert{
		Fingerprint: a.Fingerprint, Labels: a.Labels, Annotations: a.Annotations, Firing: a.Status == "firing",
		StartsAt:     a.StartsAt,
		GeneratorURL: a.GeneratorURL, SeenAt: d.now,
	}
	if !out.Firing {
		out.EndsAt = a.EndsAt // a firing alert always carries a zero endsAt, so it says nothing about that
	}
	clipAlert(&out)
	d.out.Alerts = append(d.out.Alerts, d.ahead.add(out))
	return nil
}

// texts reads labels or annotations. Those beyond maxPairs are not kept; a digest stands for them.
func (d *decoder) texts(path where, into *map[string]string) error {
	d.pairs = d.pairs[:0]
	more, rest := 0, sha256.New()
	err := d.object(path, func(name []byte) error {
		if len(d.pairs) == maxPairs {
			more++
			_, _ = rest.Write(name) // a hash.Hash never fails
			v, err := d.json.ReadValue()
			_, _ = rest.Write(v)
			return err
		}
		p := pair{name: d.name(name)}
		err := d.text(path.of(p.name), &p.value)
		d.pairs = append(d.pairs, p)
		return err
	})
	if err != nil || len(d.pairs) == 0 {
		return err
	}
	out := make(map[string]string, len(d.pairs))
	for _, p := range d.pairs {
		out[p.name] = p.value
	}
	if more > 0 {
		out[leftOutName] = fmt.Sprintf("%d more sha256:%x", more, rest.Sum(nil)[:16])
	}
	*into = out
	return nil
}

// name returns the name of a label, the same text each time.
func (d *decoder) name(quoted []byte) string {
	if known, ok := d.names[string(quoted)]; ok {
		return known
	}
	name := unquote(quoted)
	if len(d.names) < namesKept && len(name) < 256 {
		d.names[string(quoted)] = name
	}
	return name
}
