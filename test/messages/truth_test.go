package messages

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/test/program"
	"github.com/vllm-medic/vllm-medic/test/truth"
	"github.com/vllm-medic/vllm-medic/test/truth/surface"
)

var toldFile = flag.String("told", "", "write what is read of every message, notification and page to this file")

// writeTold writes what is read of the messages of some incidents, and of their pages, version by version.
func writeTold(t *testing.T, all []shown, messages, pages []truth.Version) {
	t.Helper()
	if *toldFile == "" || len(messages) != len(all) || len(pages) != len(all) { // only some of it was asked for
		return
	}
	var b strings.Builder
	for n, m := range all {
		fmt.Fprintf(&b, "=== %s\n%s\npush: %s\n--- its page\n%s\n", m.name(), messages[n].Text, messages[n].Push,
			pages[n].Text)
	}
	if err := os.WriteFile(*toldFile, []byte(b.String()), 0o600); err != nil {
		t.Error(err)
	}
}

// tellTheTruth holds the pages of all incidents, and the line of each in the list, to their incidents, and returns the
// pages as they are read.
func tellTheTruth(t *testing.T, all []shown, books *playbooks.Catalog) (pages []truth.Version) {
	t.Helper()
	const listed = 100 // as many as a page lists
	for some := range slices.Chunk(all, listed) {
		h := hall{playbooks: books.Playbooks()}
		for n, m := range some {
			inc := m.inc
			inc.ID = fmt.Sprintf("inc-%d", n)
			h.incidents = append(h.incidents, inc)
			if at := after(inc); at.After(h.now) {
				h.now = at
			}
		}
		bot := h.bot(t)
		lines := surface.List(look(t, bot, "/?state=all", true))
		for n, m := range some {
			inc := h.incidents[n]
			page, err := surface.Page(look(t, bot, "/incidents/"+inc.ID, true))
			if err != nil {
				t.Errorf("%s: %v", m.name(), err)
			}
			pages = append(pages, page)
			notTrue(t, "the page of "+m.name(), inc, page)
			if _, ok := lines[inc.ID]; !ok {
				t.Errorf("the list has no %s", m.name())
			}
			notTrue(t, "the list with "+m.name(), inc, lines[inc.ID])
		}
	}
	return pages
}

// notTrue says what is not true of an incident.
func notTrue(t *testing.T, where string, inc incident.Incident, v truth.Version) {
	t.Helper()
	for _, lie := range truth.Of(inc, v) {
		t.Errorf("%s: not true: %s", where, lie)
	}
}

// terminalsTellTheTruth holds what the program prints of the states of the gallery to their incidents.
func terminalsTellTheTruth(t *testing.T, all []shown) {
	t.Helper()
	bin := program.Build(t, "../../cmd/vllm-medic")
	h := hall{}
	for n, g := range gallery() {
		at := slices.IndexFunc(all, func(m shown) bool { return m.name() == g[1] })
		inc := all[at].inc
		inc.ID = fmt.Sprintf("inc-%d", n)
		h.incidents = append(h.incidents, inc)
	}
	bot := httptest.NewServer(h.bot(t))
	defer bot.Close()
	prints := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), bin, append(args, "--server", bot.URL)...)
		cmd.Env = append(os.Environ(), "VLLM_MEDIC_TOKEN=token")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	lines := surface.Table(prints("incidents", "list", "--state", "all", "--limit", "100"))
	for n, inc := range h.incidents {
		text := prints("incidents", "show", inc.ID)
		v, ok := surface.Terminal(text)[inc.ID]
		if !ok {
			t.Fatalf("nothing is printed of %s:\n%s", inc.ID, text)
		}
		notTrue(t, "the terminal with "+gallery()[n][1], inc, v)
		if _, ok := lines[inc.ID]; !ok {
			t.Errorf("%s is not listed", inc.ID)
		}
		notTrue(t, "the list with "+gallery()[n][1], inc, lines[inc.ID])
	}
}
