package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// maxListed bounds each list of a difference.
const maxListed = 10

// restartedAt is what kubectl rollout restart writes into a template.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// difference says what differs between two templates, one part each. Values of arguments are shown for harmless flags
// only, those of variables never. engine is the container that is spoken of without its name.
func difference(before, after *corev1.PodTemplateSpec, engine string) []string {
	if len(before.Spec.Containers) == 1 && len(after.Spec.Containers) == 1 {
		engine = after.Spec.Containers[0].Name
	}
	out := containersDifference("container ", before.Spec.Containers, after.Spec.Containers, engine)
	out = append(
		out, containersDifference("init container ", before.Spec.InitContainers, after.Spec.InitContainers, "")...,
	)
	if v := after.Annotations[restartedAt]; v != "" && v != before.Annotations[restartedAt] {
		out = append(out, "a restart was asked for (kubectl rollout restart)")
	}
	if places := otherPlaces(before, after); len(places) > 0 {
		out = append(out, "template changed in other places: "+listed(places))
	}
	return out
}

func containersDifference(what string, before, after []corev1.Container, engine string) []string {
	was, is := byName(before), byName(after)
	var out []string
	for _, name := range union(was, is) {
		a, had := was[name]
		b, has := is[name]
		prefix := what + name + ": "
		switch {
		case !has:
			out = append(out, what+name+" removed")
			continue
		case !had:
			out = append(out, what+name+" added")
			continue
		case name == engine:
			prefix = ""
		}
		for _, part := range containerDifference(a, b) {
			out = append(out, prefix+part)
		}
	}
	return out
}

func byName(containers []corev1.Container) map[string]*corev1.Container {
	out := make(map[string]*corev1.Container, len(containers))
	for i := range containers {
		out[containers[i].Name] = &containers[i]
	}
	return out
}

func containerDifference(before, after *corev1.Container) []string {
	var out []string
	if before.Image != after.Image {
		out = append(out, fmt.Sprintf("image %s -> %s", redact.Shown(before.Image), redact.Shown(after.Image)))
	}
	out = append(
		out, argsDifference(slices.Concat(before.Command, before.Args), slices.Concat(after.Command, after.Args))...,
	)
	out = append(out, envDifference(before, after)...)
	out = append(out, quantities("limits", before.Resources.Limits, after.Resources.Limits)...)
	return append(out, quantities("requests", before.Resources.Requests, after.Resources.Requests)...)
}

// argsDifference compares two command lines flag by flag. A script is not taken apart.
func argsDifference(before, after []string) []string {
	if slices.Equal(before, after) {
		return nil
	}
	if vllm.RunsScript(before) || vllm.RunsScript(after) {
		return []string{"command or arguments changed (a script, not shown)"}
	}
	was, wasRest := arguments(before)
	is, isRest := arguments(after)
	var out []string
	for _, name := range union(was, is) {
		a, had := was[name]
		b, has := is[name]
		switch {
		case had && has && a == b:
		case !had:
			out = append(out, flagText(name, b, false)+" added")
		case !has:
			out = append(out, flagText(name, a, false)+" removed")
		case showable(name, a) && showable(name, b):
			out = append(out, flagText(name, cmp.Or(a, "on"), true)+" -> "+cmp.Or(b, "on"))
		default:
			out = append(out, flagText(name, "", false)+" changed")
		}
	}
	out = capped(out)
	if !slices.Equal(wasRest, isRest) {
		out = append(out, "command or positional arguments changed")
	}
	if len(out) == 0 {
		out = append(out, "the same arguments, written in another way")
	}
	return out
}

// arguments sorts words into flags with their values, the last one of a flag counts, and the words before the first
// flag.
func arguments(words []string) (flags map[string]string, rest []string) {
	flags = make(map[string]string)
	name, pending := "", false
	for _, w := range words {
		if len(w) > 1 && w[0] == '-' && !isNumber(w) && !pending {
			long, value, joined := vllm.SplitFlag(w)
			if long == "" {
				long, value, joined = strings.Cut(w, "=")
			}
			name = long
			flags[name] = value
			pending = !joined && redact.Suspicious(name) // whatever comes next is its value
			continue
		}
		pending = false
		if name == "" {
			rest = append(rest, w)
			continue
		}
		flags[name] = strings.TrimSpace(flags[name] + " " + w)
	}
	return flags, rest
}

// isNumber says whether a word is a number with or without a sign, and so no flag.
func isNumber(w string) bool {
	digits := strings.Trim(w, "-.")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// flagName is how the names of flags are made.
var flagName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9.\-]*$`)

// plainValue is a value that can be shown as it is.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9._:/+\- ]{0,80}$`)

func showable(flag, value string) bool {
	return vllm.Harmless(flag) && plainValue.MatchString(value) && redact.Text(value) == value
}

// flagText is the flag with its value where that may be shown. A name that is no flag's name may be anything, so it is
// not shown.
func flagText(name, value string, always bool) string {
	text := "--" + name
	if strings.HasPrefix(name, "-") {
		text = name
	}
	if bare := strings.TrimLeft(name, "-"); len(bare) > 60 || !flagName.MatchString(bare) || redact.Text(bare) != bare {
		return "a flag"
	}
	if value != "" && (always || showable(name, value)) {
		text += " " + value
	}
	return text
}

// envDifference names the variables that differ.
func envDifference(before, after *corev1.Container) []string {
	was, is := variables(before.Env), variables(after.Env)
	var added, removed, changed []string
	for _, name := range union(was, is) {
		a, had := was[name]
		b, has := is[name]
		switch {
		case !had:
			added = append(added, variableName(name))
		case !has:
			removed = append(removed, variableName(name))
		case !reflect.DeepEqual(a, b):
			changed = append(changed, variableName(name))
		}
	}
	var out []string
	for _, c := range []struct {
		what  string
		names []string
	}{{"added", added}, {"removed", removed}, {"changed", changed}} {
		if len(c.names) > 0 {
			out = append(out, "environment variables "+c.what+": "+listed(c.names))
		}
	}
	if !reflect.DeepEqual(before.EnvFrom, after.EnvFrom) {
		out = append(out, "sources of environment variables changed")
	}
	return out
}

func variables(env []corev1.EnvVar) map[string]corev1.EnvVar {
	out := make(map[string]corev1.EnvVar, len(env))
	for _, v := range env {
		out[v.Name] = v
	}
	return out
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.\-]{0,80}$`)

func variableName(name string) string {
	if !plainName.MatchString(name) || redact.Text(name) != name {
		return "(a name that is not shown)"
	}
	return name
}

func quantities(what string, before, after corev1.ResourceList) []string {
	var out []string
	for _, name := range union(before, after) {
		a, b := "none", "none"
		if q, ok := before[name]; ok {
			a = q.String()
		}
		if q, ok := after[name]; ok {
			b = q.String()
		}
		if a != b {
			out = append(out, fmt.Sprintf("%s %s %s -> %s", what, name, a, b))
		}
	}
	return capped(out)
}

// otherPlaces names the fields that differ beside those that are spoken of already.
func otherPlaces(before, after *corev1.PodTemplateSpec) []string {
	a, b := restOfTemplate(before), restOfTemplate(after)
	out := differing(a, b, "")
	was, is := byName(append(
		before.Spec.Containers, before.Spec.InitContainers...,
	)), byName(append(after.Spec.Containers, after.Spec.InitContainers...))
	for name, c := range was {
		if d, ok := is[name]; ok {
			out = append(out, differing(restOfContainer(c), restOfContainer(d), " of "+name)...)
		}
	}
	slices.Sort(out)
	return out
}

// restOfTemplate is a template without its containers, and without what controllers write into it.
func restOfTemplate(t *corev1.PodTemplateSpec) map[string]any {
	t = t.DeepCopy()
	t.Spec.Containers, t.Spec.InitContainers = nil, nil
	delete(t.Annotations, restartedAt)
	delete(t.Labels, "pod-template-hash")
	out := fieldsOf(&t.Spec)
	if len(t.Labels) > 0 {
		out["labels"] = t.Labels
	}
	if len(t.Annotations) > 0 {
		out["annotations"] = t.Annotations
	}
	return out
}

func restOfContainer(c *corev1.Container) map[string]any {
	c = c.DeepCopy()
	c.Name, c.Image, c.Command, c.Args = "", "", nil, nil
	c.Env, c.EnvFrom, c.Resources = nil, nil, corev1.ResourceRequirements{}
	return fieldsOf(c)
}

// fieldsOf is an object by the names of its fields in JSON.
func fieldsOf(o any) map[string]any {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil { // not for types of Kubernetes
		return map[string]any{"a part that cannot be read": nil}
	}
	delete(out, "resources")
	return out
}

func differing(a, b map[string]any, suffix string) []string {
	var out []string
	for _, field := range union(a, b) {
		if !reflect.DeepEqual(a[field], b[field]) {
			out = append(out, field+suffix)
		}
	}
	return out
}

// union are the keys of two maps in their order.
func union[K cmp.Ordered, V any, M ~map[K]V](a, b M) []K {
	all := maps.Clone(a)
	if all == nil {
		all = make(M, len(b))
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func listed(words []string) string { return strings.Join(capped(words), ", ") }

func capped(words []string) []string {
	if len(words) <= maxListed {
		return words
	}
	return append(slices.Clone(words[:maxListed]), fmt.Sprintf("and %d more", len(words)-maxListed))
}
