package playbooks

import (
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestAlertsThatWereNotExaminedAreSaid(t *testing.T) {
	t.Parallel()
	long := func(name string) incident.UnexaminedAlert {
		return incident.UnexaminedAlert{Alert: name, Why: "too long to analyze: at least 99999 bytes, and the limit is 16384"}
	}
	said := func(name string) string {
		return "The rule of " + name +
			" was not checked against this pool: its expression is too long to analyze: at least 99999 bytes, and the " +
			"limit is 16384."
	}
	ev := incident.Evidence{Unexamined: []incident.UnexaminedAlert{long("A"), long("B"), long("C"), long("D"), long("E")}}
	if got, want := deadNotes(ev),
		[]string{said("A"), said("B"), said("C"), "The rules of 2 more alerts were not checked."}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	ev.Unexamined = ev.Unexamined[:3]
	if got := deadNotes(ev); len(got) != 3 {
		t.Errorf("got %q", got)
	}
}
