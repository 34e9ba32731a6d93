package messages

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report/reporttest"
	"github.com/vllm-medic/vllm-medic/internal/web"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// The pages of the bot, as pictures: what each shows, as a hash, is beside them.
const (
	pagesDoc    = "../../docs/pages.md"
	pagesFolder = "../../docs/pages"
	pagesHashes = pagesFolder + "/pictures.sum"
	// mostOfAPage is how much of a page a picture shows, in pixels; most are longer.
	mostOfAPage = 1500
	mostOfBytes = 150 << 10
)

// sight is a page under the name of its pictures.
type sight struct{ name, html string }

// sights are all pages, with incidents that the playbooks and the domain made.
func sights(t *testing.T, all []shown, told found, cfg []incident.Pool, books *playbooks.Catalog) []sight {
	t.Helper()
	known := map[string]incident.Incident{}
	for _, m := range all {
		known[m.name()] = m.inc
	}
	as := func(state, id, pool string) incident.Incident {
		inc, ok := known["kv-thrash "+state]
		if !ok {
			t.Fatalf("there is no incident %q", state)
		}
		inc.ID, inc.Pool = id, pool
		if inc.Plan != nil { // it is made of the ids of objects
			plan := *inc.Plan
			plan.Digest = "5f1c0a9e2b7d"
			inc.Plan = &plan
		}
		return inc
	}
	deciding, verifying := as("deciding", "inc-7kq2mz4a", pool), as("verifying replicas", "inc-7kq2mz4b", pool)
	offered, closed := as("undo offered throttle", "inc-7kq2mz4c", pool), as("closed replicas", "inc-7kq2mz4d", pool)
	hall := hall{
		now: after(deciding), incidents: []incident.Incident{
			deciding, before(as("verifying replicas", "inc-4hw8", "qwen-32b"), 13*time.Minute),
			before(as("recovered replicas", "inc-9tr1", "mistral-24b"), 14*time.Minute),
			before(closed, 3*time.Hour), before(as("closed after a rollback", "inc-2bd6", "qwen-32b"), 26*time.Hour),
		},
		playbooks: books.Playbooks(), pools: slices.Clone(cfg), health: map[string]web.Health{},
		before: told.Evidence.Readings,
	}
	for n, name := range []string{pool, "qwen-32b", "mistral-24b", "gemma-9b"} {
		p := cfg[0]
		p.Name = name
		if n > 0 {
			hall.pools = append(hall.pools, p)
		}
		hall.health[name] = healthOf(books, told.Evidence, n, p.SLO, hall.now.Add(-12*time.Second))
	}
	hall.told = reporttest.Month(t, hall.now)
	page := func(name, path string, now time.Time, only ...incident.Incident) sight {
		h := hall
		h.now = now
		if len(only) > 0 {
			h.incidents = only
		}
		return sight{name, h.open(t, path, true)}
	}
	paused := hall
	paused.incidents = slices.DeleteFunc(slices.Clone(hall.incidents), incident.Incident.Open)
	paused.health = map[string]web.Health{}
	for name, h := range hall.health {
		paused.health[name] = healthOf(books, told.Evidence, 2, cfg[0].SLO, h.At)
	}
	paused.pauses = []incident.Pause{{
		Reason: "maintenance of the gateway", By: bob, At: hall.now.Add(-time.Hour),
	}}
	return []sight{
		page("list", "/", hall.now),
		{"list-paused", paused.open(t, "/", true)},
		page("incident-deciding", "/incidents/"+deciding.ID, hall.now),
		page("incident-verifying", "/incidents/"+verifying.ID, after(verifying), verifying),
		page("incident-rollback", "/incidents/"+offered.ID, after(offered), offered),
		page("incident-closed", "/incidents/"+closed.ID, after(closed).Add(time.Hour), closed),
		page("incident-hostile", "/incidents/inc-x", hall.now, nasty(deciding)),
		page("pool", "/pools/"+pool, hall.now),
		page("report", "/report?days=30", hall.now),
		page("status", "/status", hall.now),
		page("playbook", "/playbooks/high-ttft", hall.now),
		{"error", hall.open(t, "/", false)},
	}
}

// before has an incident have happened some time earlier, as far as a list shows it.
func before(inc incident.Incident, by time.Duration) incident.Incident {
	for _, at := range []*time.Time{&inc.OpenedAt, &inc.ClosedAt, &inc.HealthySince} {
		if !at.IsZero() {
			*at = at.Add(-by)
		}
	}
	return inc
}

// after is some seconds after the newest line of the journal.
func after(inc incident.Incident) time.Time {
	return inc.Journal[len(inc.Journal)-1].At.Add(12 * time.Second)
}

// healthOf is what pages show of a pool, ever further from trouble.
func healthOf(books *playbooks.Catalog, ev incident.Evidence, calm int, slo incident.SLO, at time.Time) web.Health {
	ev.Readings = calmed(ev.Readings, calm)
	targets, excess := books.AgainstTargets(ev, slo)
	return web.Health{
		At: at, Dialect: ev.Dialect, Readings: books.Targeted(ev.Readings, slo),
		Assessment: incident.Assess(incident.Measured{Readings: ev.Readings, Targets: targets, Excess: excess}),
	}
}

// calmed are the readings that pages show of a pool, ever further from trouble.
func calmed(readings map[string]incident.Reading, calm int) map[string]incident.Reading {
	share := 1.0
	switch {
	case calm == 1: // better after a change, and not good yet
		share = 0.4
	case calm > 1:
		share = 0.02 / float64(calm)
	}
	out := map[string]incident.Reading{}
	for _, name := range []string{"ttft_p95", "tpot_p95", "e2e_p95", "waiting", "running", "kv_usage"} {
		r, ok := readings[name]
		if !ok {
			continue
		}
		r.Threshold, r.Series = nil, slices.Clone(r.Series)
		for n := range r.Series {
			r.Series[n].Value *= share
		}
		if r.Value != nil {
			r.Value = new(*r.Value * share)
		}
		out[name] = r
	}
	return out
}

// nasty is an incident whose names and labels are as long and as foreign as they can be.
func nasty(inc incident.Incident) incident.Incident {
	inc = inc.Clone()
	long := strings.Repeat("averylongnamewithoutabreak", 8)
	inc.ID, inc.Pool = "inc-x", `<b>"pool"</b>-`+long
	inc.Alerts = slices.Clone(inc.Alerts)
	for n := range inc.Alerts {
		a := &inc.Alerts[n]
		a.Labels = maps.Clone(a.Labels)
		a.Labels["alertname"], a.Labels["pod"] = "<script>alert(1)</script>"+long, long
		a.Annotations = map[string]string{"summary": "\u202e" + strings.Repeat("many words ", 60) + long}
		a.GeneratorURL = "javascript:alert(1)"
	}
	inc.Diagnosis.Summary = "<img src=x onerror=alert(1)> " + long + ". More."
	inc.Journal = append(inc.Journal, incident.Entry{At: inc.Journal[0].At, Text: long + "<script>"})
	return inc
}

// nastyReport is a report of a pool and of rules with such names.
func nastyReport(t *testing.T) sight {
	t.Helper()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	long := strings.Repeat("averylongnamewithoutabreak", 8)
	h := hall{now: now}
	for range 3 {
		l := reporttest.Open(t, "inc", "<b>"+long, incident.ModeApprove, now.Add(-2*time.Hour), "<script>"+long, "B"+long)
		l.Find("c"+long, reporttest.Tokens(long, "2", "1")).Ask().Approve("p1-s1", reporttest.Alice).Write().
			Wait(time.Minute).Judge(incident.VerdictWorse)
		h.told = append(h.told, reporttest.Posted{Life: l})
	}
	return sight{"report, hostile", h.open(t, "/report", true)}
}

// dark has a page look as in the dark, whatever the browser's own setting is.
func dark(html string) string {
	return strings.Replace(html, "@media (prefers-color-scheme: dark)", "@media all", 1)
}

// fonts are those that scripts/prepare.sh installs: a picture is the same everywhere.
const fonts = `<style>body { font-family: "DejaVu Sans", "Noto Color Emoji" !important; }</style></head>`

// comparePages holds docs/pages.md and its pictures to what the pages show. With -update it takes the pictures first.
func comparePages(t *testing.T, all []sight) {
	t.Helper()
	wanted := map[string]string{}
	for _, s := range all {
		sum := sha256.Sum256([]byte(s.html))
		for _, file := range picturesOf(s.name) {
			wanted[file] = hex.EncodeToString(sum[:8])
		}
	}
	if *update {
		for _, width := range widths() {
			for _, theme := range []string{"", "-dark"} {
				shootPages(t, all, width, theme)
			}
		}
		writeHashes(t, pagesHashes, wanted)
	}
	doc, err := os.ReadFile(pagesDoc)
	if err != nil {
		t.Fatal(err)
	}
	taken := readHashes(t, pagesHashes)
	for file, hash := range wanted {
		if !strings.Contains(string(doc), "(pages/"+file+")") {
			t.Errorf("docs/pages.md does not show %s", file)
		}
		switch info, err := os.Stat(filepath.Join(pagesFolder, file)); {
		case err != nil:
			t.Error(err)
		case info.Size() > mostOfBytes:
			t.Errorf("docs/pages/%s has %d bytes, at most %d", file, info.Size(), mostOfBytes)
		}
		if taken[file] != hash {
			t.Errorf("docs/pages/%s does not show the page of today: make gallery, and look at it", file)
		}
	}
	mustBelong(t, pagesFolder, ".png", wanted)
}

// picturesOf are the files of a page.
func picturesOf(name string) []string {
	var out []string
	for _, width := range widths() {
		for _, theme := range []string{"", "-dark"} {
			out = append(out, fmt.Sprintf("%s-%d%s.png", name, width, theme))
		}
	}
	return out
}

// TestPages has the domain tell one incident in its states, and looks at all pages with it.
func TestPages(t *testing.T) {
	t.Parallel()
	const diagnosed = "kv-thrash"
	l := newLab(t, diagnosed)
	told := l.investigate(t)[0]
	all := append(states(t, told), rare(t, l, told)...)
	cfg := configured(t, l.playbook, l.replays[diagnosed].labeled.SLO)
	seen := sights(t, all, told, cfg.Pools, l.playbook)
	t.Run("gallery: the pictures are of today", func(t *testing.T) { comparePages(t, seen) })
	t.Run("none is wider than the screen", func(t *testing.T) { fitAPage(t, append(seen, nastyReport(t))) })
}

// framesOf are pages to be laid out, with nothing that the browser would have to wait for.
func framesOf(all []sight, theme string) []frame {
	out := make([]frame, len(all))
	for n, s := range all {
		html := strings.Replace(s.html, "</head>", fonts, 1)
		html = strings.Replace(html, `<meta http-equiv="refresh"`, `<meta name="refresh"`, 1)
		if theme != "" {
			html = dark(html)
		}
		out[n] = frame{html, "body"}
	}
	return out
}

// shootPages takes the pictures of all pages in one width.
func shootPages(t *testing.T, all []sight, width int, theme string) {
	t.Helper()
	if err := os.MkdirAll(pagesFolder, 0o750); err != nil {
		t.Fatal(err)
	}
	frames := framesOf(all, theme)
	areas := measure(t, frames, width)
	height := func(n int) int { return min(int(areas[n].Area.Top+areas[n].Area.Height)+margin, mostOfAPage) }
	const together = 6
	for from := 0; from < len(all); from += together {
		to := min(from+together, len(all))
		sum := 0
		for n := from; n < to; n++ {
			sum += height(n)
		}
		shot := screenshot(t, frames[from:to], func(n int) int { return height(from + n) }, width, sum)
		top := 0
		for n := from; n < to; n++ {
			file := fmt.Sprintf("%s-%d%s.png", all[n].name, width, theme)
			savePNG(t, filepath.Join(pagesFolder, file), shot, image.Rect(0, top, width, top+height(n)))
			top += height(n)
		}
	}
}

// fitAPage holds that no page is wider than the screen, whatever is on it.
func fitAPage(t *testing.T, all []sight) {
	t.Helper()
	for _, width := range widths() {
		for n, f := range measure(t, framesOf(all, ""), width) {
			if f.Area.Wide > float64(width) {
				t.Errorf("%s is %.0f px wide on a screen of %d", all[n].name, f.Area.Wide, width)
			}
		}
	}
}
