package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// LastWrites reads what the objects of a pool's knobs say of the last write of each; an object that says nothing is
// left out. It writes nothing. The error is about knobs whose objects could not be read: what they say isn't known, and
// the others are listed all the same.
//
// A write through the scale subresource leaves nothing on the object. A knob that is refused as it is configured, or
// whose object doesn't exist, has no object: its step says why.
func (a *adjuster) LastWrites(ctx context.Context, pool incident.Pool) ([]incident.LastWrite, error) {
	var out []incident.LastWrite
	var unread []error
	for _, knob := range incident.AllKnobs() {
		if !pool.Knobs.Has(knob.Kind) {
			continue
		}
		s, err := a.find(ctx, knob.Kind, pool, incident.Target{})
		no, refused := errors.AsType[*incident.RefusedError](err)
		switch {
		case errors.Is(err, kube.ErrGone), refused && no.Cause != incident.CauseRight:
		case err != nil:
			unread = append(unread, fmt.Errorf("%s: %w", knob.Kind, err))
		default:
			out = addLastWrite(out, s)
		}
	}
	return out, errors.Join(unread...)
}

// addLastWrite adds a field to those of its object, if that says anything.
func addLastWrite(all []incident.LastWrite, s live.Setting) []incident.LastWrite {
	f := s.Live()
	if f.Subresource != "" || f.Object.GetAnnotations()[Annotation] == "" {
		return all
	}
	object := live.TargetOf(f.Object, incident.Target{})
	i := slices.IndexFunc(all, func(w incident.LastWrite) bool { return w.Target == object })
	if i < 0 {
		i = len(all)
		all = append(all, incident.LastWrite{
			Target: object, Resource: f.Resource.GroupResource().String(),
			ID: incident.ClipWriteID(f.Object.GetAnnotations()[Annotation]),
		})
	}
	all[i].Settings = append(all[i].Settings, written(s, f))
	return all
}

// longestBefore bounds what is repeated of a noted value, and longestPatch what a person is given to paste.
const (
	longestBefore = 40
	longestPatch  = 600
)

// settable is a value that a command may set: anybody may have noted it.
var settable = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?[kKmMgGtT]?$`)

func written(s live.Setting, f live.Field) incident.WrittenSetting {
	out := incident.WrittenSetting{Field: f.Target.Field, Value: f.Value}
	if f.Unread {
		out.Value, out.Unread = incident.Value{}, f.Broken.Reason
	}
	note, noted := f.Object.GetAnnotations()[live.UndoNote(f.Target.Setting)]
	if !noted {
		return out
	}
	var before incident.Value
	if note != live.UndoAbsent {
		before = incident.Set(incident.ClipBytes(note, longestBefore))
	}
	out.Before = &before
	if f.Broken == nil && !f.Holds(before) && (!before.Present || settable.MatchString(before.Text)) {
		out.Patch = patchTo(s, before, f.Secrets)
	}
	return out
}

// patchTo is the JSON Patch that sets a value again, for a person; empty where there is none to show.
func patchTo(s live.Setting, to incident.Value, secrets []string) string {
	ops, err := s.Change(to)
	if err != nil {
		return ""
	}
	ops, ok := byElement(ops)
	if !ok {
		return ""
	}
	body, err := json.Marshal(ops)
	if text := string(body); err == nil && len(text) <= longestPatch && redact.Without(text, secrets...) == text {
		return text
	}
	return ""
}

// byElement puts changes of single elements in place of that of a whole list: the rest of a command line is long, and
// holds secrets. ok is false where a list is not known as it was.
func byElement(ops []live.Operation) (out []live.Operation, ok bool) {
	was := map[string][]string{}
	for _, op := range ops {
		list, is := op.Value.([]string)
		switch {
		case !is || op.Op == "remove":
			out = append(out, op)
		case op.Op == "test":
			was[op.Path] = list
		default:
			before, known := was[op.Path]
			if !known {
				return nil, false
			}
			out = append(out, elements(op.Path, before, list)...)
		}
	}
	return out, true
}

// elements are the operations that make one list of another, where it differs.
func elements(path string, from, to []string) []live.Operation {
	start := 0
	for start < min(len(from), len(to)) && from[start] == to[start] {
		start++
	}
	end := 0
	for end < min(len(from), len(to))-start && from[len(from)-1-end] == to[len(to)-1-end] {
		end++
	}
	from, to = from[start:len(from)-end], to[start:len(to)-end]
	at := func(n int) string { return path + "/" + strconv.Itoa(start+n) }
	var out []live.Operation
	for n := len(from) - 1; n >= len(to); n-- {
		out = append(out, live.Test(at(n), from[n]), live.Remove(at(n)))
	}
	for n := range min(len(from), len(to)) {
		out = append(out, live.Test(at(n), from[n]), live.Replace(at(n), to[n]))
	}
	for n := len(from); n < len(to); n++ {
		out = append(out, live.Add(at(n), to[n]))
	}
	return out
}
