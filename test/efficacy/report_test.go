package efficacy

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

// some plays: of a surge with five seeds under each hand.
func some() Results {
	var out Results
	for seed := uint64(1); seed <= 5; seed++ {
		for i, hand := range Hands() {
			violated := 40 - 8*i + int(seed)
			p := Result{Script: "surge", Hand: hand, Seed: seed, Fired: Never, Opened: Never, Asked: Never}
			p.Violation, p.Calls, p.GPU = float64(violated), 900, 270+float64(10*i)
			for m := range 45 {
				minute := trial.Minute{Calls: 20, FirstToken: time.Second}
				if m >= 5 && m < 5+violated {
					minute.Lost, minute.FirstToken = 10, trial.Forever
				}
				p.Minutes = append(p.Minutes, minute)
			}
			if hand == Human || hand == Instant {
				p.Fired, p.Opened, p.Asked = 2*time.Minute, 3*time.Minute, 4*time.Minute
				p.Steps = []Step{{Effect: Helped}, {Effect: Harmful, Back: true}, {
					Effect: Harmful, At: 21 * time.Minute, Deleted: "pod-2", Bad: 9.5, Without: 4,
				}}
				p.Incidents = []incident.Incident{{Journal: []incident.Entry{
					{At: p.Epoch.Add(15 * time.Minute), Kind: incident.KindAsked},
				}}}
			}
			out = append(out, p)
		}
	}
	return out
}

func TestTheReportSaysWhatThePlaysShow(t *testing.T) {
	t.Parallel()
	r := some()
	for name, want := range map[string]string{
		r.Answer(): "Of the 30 changes in these 10 plays, 20 were harmful; still in place at the end: 10.",
		r.Harms(): "- `surge`, seed 1, bot, person on call: deleted pod-2 after 21 minutes; " +
			"9.5 late or lost calls in a hundred instead of 4.0; left standing\n",
		r.Totals():  "| bot, person on call | 19.0 ± 2.0 | 0 | 300 | 2.0 | 3.0 | 4.0 | 19.0 | 5 of 5 |",
		r.Steps():   "| bot, person on call | 3.0 | 5 | 0 | 0 | 10 | 5 | 0 | 0 |",
		r.Scripts(): "| surge | 43.0 ± 2.0 | 35.0 ± 2.0 | 27.0 ± 2.0 | 19.0 ± 2.0 | 11.0 ± 2.0 |",
		r.GPUs():    "| surge | 270 | 280 | 290 | 300 | 310 |",
	} {
		if !strings.Contains(name, want) {
			t.Errorf("got\n%s\nwant in it\n%s", name, want)
		}
	}
	if !strings.Contains(r.Scripts(), "In no script did the bot do worse") {
		t.Errorf("got\n%s", r.Scripts())
	}
	for i := range r {
		if r[i].Hand == Human {
			r[i].Violation += 27 // 3 more than nobody, with each seed
		}
	}
	if got := r.Scripts(); !strings.Contains(got, "Worse than nobody: surge (bot, person on call, by 3.0 min).") {
		t.Errorf("got\n%s", got)
	}
}

func TestTheDocumentKeepsWhatIsBetweenItsParts(t *testing.T) {
	t.Parallel()
	document := "# Title\n"
	for _, name := range []string{"answer", "totals", "steps", "scripts", "gpus", "lost"} {
		document += "before " + name + "\n<!-- " + name + " -->\nold\n<!-- end -->\nafter " + name + "\n"
	}
	got, err := some().Write(document)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got, "old") || !strings.Contains(got, "before lost") || !strings.Contains(got, "after gpus") {
		t.Errorf("got\n%s", got)
	}
	if again, err := some().Write(got); err != nil || again != got {
		t.Errorf("writing it again changes it (%v)", err)
	}
	if _, err := some().Write("# Title\n"); err == nil {
		t.Error("a document without the parts is written all the same")
	}
}

func TestThePicturesShowEveryHand(t *testing.T) {
	t.Parallel()
	r := some()
	timeline, err := r.Timeline("surge", 1)
	if err != nil {
		t.Fatal(err)
	}
	picture := r.Picture()
	for _, hand := range Hands() {
		if !strings.Contains(picture, hand) {
			t.Errorf("the picture has no %q", hand)
		}
	}
	if !strings.Contains(timeline, "10.0 min  the bot asks") || strings.Contains(timeline, "NaN") ||
		strings.Contains(picture, "NaN") {
		t.Errorf("got\n%s", timeline)
	}
	if _, err := r.Timeline("nothing", 1); err == nil {
		t.Error("a script that isn't there is drawn")
	}
}
