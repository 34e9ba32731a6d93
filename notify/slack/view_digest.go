package slack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// maxDigestLines is how many incidents of a digest have a line. Each is a block with a button.
const maxDigestLines = 20

// RenderDigest draws a digest. Like Render it is pure, never fails and keeps every limit: incidents without a line are
// counted.
func RenderDigest(d incident.Digest, opts ViewOptions) View {
	text := digestPush(d)
	for most := maxDigestLines; most > 0; most /= 2 {
		c := &composer{opts: opts}
		c.digest(d, most)
		if n, err := size(c.blocks); err == nil && n <= maxTotal && len(c.blocks) <= maxBlocks {
			return View{Blocks: c.blocks, Text: text}
		}
	}
	only := slackgo.NewSectionBlock(mrkdwn(present.Clip(text, maxSection)), nil, nil)
	return View{Blocks: []slackgo.Block{only}, Text: text}
}

// digest says how many there are and what they have in common, and has a line for each with the button that gives it a
// message. The ones that wait for somebody come first.
func (c *composer) digest(d incident.Digest, most int) {
	c.header(digestIcon(d) + " " + digestHeadline(d))
	lines := []string{digestCounts(d), commonCause(d)}
	if len(d.Folded) == 0 && len(d.Unreadable) == 0 {
		c.section(append(lines, "Each has its own message in this channel.")...)
		c.context("`" + strings.ReplaceAll(defuse(d.ID, 100), "`", "'") + "`")
		return
	}
	c.section(lines...)
	if n := openIn(d); n > 1 {
		if b, ok := showButton(d.ID, ""); ok {
			b.Confirm = showAllDialog(n)
			c.add(slackgo.NewActionBlock(digestBlockID(d, "all"), b))
		}
	}
	all := inOrder(d.Folded)
	for n, inc := range all[:min(most, len(all))] {
		s := slackgo.NewSectionBlock(mrkdwn(fit(c.digestLine(inc), 400)), nil, nil)
		s.Expand = true
		if b, ok := showButton(d.ID, inc.ID); ok {
			s.Accessory, s.BlockID = slackgo.NewAccessory(b), digestBlockID(d, fmt.Sprint(n))
		}
		c.add(s)
	}
	var left []string
	if n := max(0, len(all)-most) + d.Closed; n > 0 {
		show := ""
		if len(all) > most && all[most].Open() {
			show = "Show all, or "
		}
		left = append(left, present.More(n)+": "+show+"`vllm-medic incidents list`")
	}
	if n := len(d.Unreadable); n > 0 {
		left = append(left, present.Counted(n, "incident")+" of a newer version can't be shown")
	}
	if n := len(d.Shown); n > 0 && d.Open() { // else the headline says so
		left = append(left, fmt.Sprintf("%d shown separately", n))
	}
	c.context(append(left, "New incidents came too fast for a message each. Critical ones always get one.")...)
}

// openIn counts what Show all posts a message for.
func openIn(d incident.Digest) int {
	n := 0
	for _, inc := range d.Folded {
		if inc.Open() {
			n++
		}
	}
	return n
}

// digestBlockID changes with the digest, so that Slack takes the buttons of an edited message for new ones.
func digestBlockID(d incident.Digest, what string) string {
	return present.Clip(fmt.Sprintf("digest:%s:v%d", what, d.Version), maxID)
}

// digestIcon is the worst of all: there is nothing critical in a digest.
func digestIcon(d incident.Digest) string {
	if d.Open() {
		return "🟠"
	}
	if len(d.Shown) > 0 || !slices.ContainsFunc(d.Folded, present.Resolved) {
		return "⚪" // of those that are shown separately, it knows nothing
	}
	return "✅"
}

func digestHeadline(d incident.Digest) string {
	n := d.All()
	if gathered := len(d.Folded) + d.Closed; gathered > 0 && !d.Open() {
		if len(d.Shown) == 0 {
			return "All closed: " + present.Counted(gathered, "incident")
		}
		return fmt.Sprintf("%s closed, %d shown separately", present.Counted(gathered, "gathered incident"), len(d.Shown))
	}
	return present.Counted(n, "new incident") + " since " + since(d)
}

// since is when the first one came, with the date when that was more than a day ago.
func since(d incident.Digest) string {
	if d.At.Sub(d.Since) > 24*time.Hour {
		return d.Since.UTC().Format("Jan 2, 15:04 UTC")
	}
	return d.Since.UTC().Format("15:04 UTC")
}

// needsHuman says that an incident waits for somebody without asking for a decision here.
func needsHuman(inc incident.Incident) bool {
	return inc.Open() && !inc.Waits() && (inc.State == incident.StateDeciding || present.NeedsHuman(inc))
}

// digestCounts says how many need a decision, need a human, are open, and are closed.
func digestCounts(d incident.Digest) string {
	waiting, human, open, closed := 0, 0, 0, d.Closed
	for _, inc := range d.Folded {
		switch {
		case inc.Waits():
			waiting++
		case needsHuman(inc):
			human++
		case inc.Open():
			open++
		default:
			closed++
		}
	}
	var parts []string
	if waiting > 0 {
		parts = append(parts, fmt.Sprintf("*%s approval*", needs(waiting)))
	}
	if human > 0 {
		parts = append(parts, fmt.Sprintf("*%s a human*", needs(human)))
	}
	if open > 0 {
		parts = append(parts, fmt.Sprintf("%d open, nothing to decide", open))
	}
	if closed > 0 && d.Open() { // else the headline says so
		parts = append(parts, fmt.Sprintf("%d closed", closed))
	}
	return strings.Join(parts, " · ")
}

func needs(n int) string {
	if n == 1 {
		return "1 needs"
	}
	return fmt.Sprintf("%d need", n)
}

// commonCause is the cause that more than half of the open incidents have; empty when there is none, or only one
// incident.
func commonCause(d incident.Digest) string {
	name, n, of := mostCommon(d)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%d of %d: *%s*", n, of, escape(name, 80))
}

// mostCommon looks at those that are open, and when none is, at all.
func mostCommon(d incident.Digest) (name string, n, of int) {
	all := slices.DeleteFunc(slices.Clone(d.Folded), func(i incident.Incident) bool { return d.Open() && !i.Open() })
	if !d.Open() {
		of = d.Closed
	}
	of += len(all)
	counts := map[string]int{}
	for _, inc := range all {
		if cause := present.CauseOf(inc); cause.Name != "" {
			counts[cause.Name]++
		}
	}
	for _, cause := range sortedKeys(counts) {
		if counts[cause] > n {
			name, n = cause, counts[cause]
		}
	}
	if n < 2 || 2*n <= of {
		return "", 0, of
	}
	return causeTitle(name), n, of
}

// causeTitle is the name of a diagnosis at the beginning of a line: "KV thrash".
func causeTitle(name string) string {
	name = incident.CauseWords(name)
	first, rest, _ := strings.Cut(name, " ")
	switch first {
	case "kv", "oom":
		return strings.TrimSpace(strings.ToUpper(first) + " " + rest)
	}
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[n:]
}

// inOrder puts first what waits for a decision, the one that ends first at the top, then what needs a human, then what
// is open, the worst first, then what is closed.
func inOrder(all []incident.Incident) []incident.Incident {
	rank := func(i incident.Incident) int {
		switch {
		case i.Waits():
			return 0
		case needsHuman(i):
			return 1
		case i.Open():
			return 2
		}
		return 3
	}
	mild := func(i incident.Incident) int {
		if i.Severity() == "warning" {
			return 0
		}
		return 1
	}
	until := func(i incident.Incident) time.Time {
		if !i.Waits() {
			return time.Time{}
		}
		return i.Plan.ExpiresAt
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b incident.Incident) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), until(a).Compare(until(b)), cmp.Compare(mild(a), mild(b)))
	})
	return all
}

// digestLine is one incident: what is wrong, and what is asked.
func (c *composer) digestLine(inc incident.Incident) []string {
	mark := strings.TrimSpace(cmp.Or(unreal(inc), icon(inc)))
	name := link(incidentURL(c.opts, inc), escape(present.About(inc), 80))
	return []string{mark + " *" + name + "*: " + defuse(present.News(inc), 160), wanted(inc)}
}

// wanted is what a person is asked, and until when; empty when nothing is.
func wanted(inc incident.Incident) string {
	switch {
	case needsHuman(inc):
		return "Needs a human."
	case !inc.Waits():
		return ""
	}
	by := ""
	if !inc.Plan.ExpiresAt.IsZero() {
		by = " by " + clock(inc.Plan.ExpiresAt)
	}
	if s, ok := present.Offered(inc); ok {
		return "Decide" + by + ": roll back to " + defuse(present.ValueText(s.Undo), 60) + "?"
	}
	if open := inc.Proposed(); len(open) > 0 {
		return "Approve" + by + ": " + defuse(present.Change(open[0]), 100)
	}
	return ""
}

// digestPush is what a lock screen shows when the digest comes up: how bad it is, what it is about, what is asked.
func digestPush(d incident.Digest) string {
	text := digestHeadline(d)
	if d.Open() {
		text = stormPush(d)
	}
	waiting := 0
	for _, inc := range d.Folded {
		if inc.Waits() {
			waiting++
		}
	}
	text += "."
	if waiting > 0 {
		text += " " + needs(waiting) + " approval."
	}
	if name, n, of := mostCommon(d); name != "" {
		text += fmt.Sprintf(" %d of %d: %s.", n, of, defuse(name, 80))
	}
	if d.Open() && d.Came > 0 {
		text += " Further ones are gathered here."
	}
	return text + " " + reference(d.ID, 0)
}

// stormPush says how fast incidents come, and names the one that wants somebody first.
func stormPush(d incident.Digest) string {
	text := digestHeadline(d)
	if d.Came > 0 {
		text = fmt.Sprintf("Storm: %s in %s", present.Counted(d.Came, "incident"), incident.FormatDuration(d.Within))
	}
	open := slices.DeleteFunc(inOrder(d.Folded), func(i incident.Incident) bool { return !i.Open() })
	if len(open) == 0 {
		return text
	}
	text += ", also " + defuse(present.About(open[0]), 80) + ": " + defuse(present.News(open[0]), 160)
	if n := len(open) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

// renderCall asks for decisions on several incidents at once: who is called, and what for, each incident once.
func renderCall(d incident.Digest, calls []incident.Call, last int64) ([]slackgo.Block, string) {
	var mention []string
	asked := map[string]bool{}
	for _, call := range calls {
		mention = append(mention, call.Entry.Mention...)
		asked[call.Incident] = true
	}
	var lines, names []string
	var until []time.Time
	for _, inc := range inOrder(d.Folded) {
		if !asked[inc.ID] {
			continue
		}
		name := present.About(inc)
		names = append(names, defuse(name, 60))
		if inc.Plan != nil && !inc.Plan.ExpiresAt.IsZero() {
			until = append(until, inc.Plan.ExpiresAt)
		}
		if inc.DryRun {
			name = "🧪 " + name
		}
		lines = append(lines, "• "+bold(name, 80)+": "+lowerFirst(wanted(inc)))
	}
	called := strings.TrimSpace(called(mention, maxCalled))
	what := "Approval needed for " + present.Counted(len(names), "incident")
	c := &composer{}
	c.section(append([]string{strings.TrimSpace(called + " " + what + ":")}, present.Capped(lines, maxDigestLines)...)...)
	c.context("Click Show in the message above to decide, or use `vllm-medic incidents`.")
	which := strings.Join(present.Capped(names, maxDigestLines), ", ")
	text := strings.TrimSpace(called+" "+what) + by(until) + ": " + which + ". " + reference(d.ID, last)
	return c.blocks, text
}

// by is until when the first decision is wanted.
func by(until []time.Time) string {
	if len(until) == 0 {
		return ""
	}
	first := slices.MinFunc(until, time.Time.Compare)
	which := " by "
	if slices.ContainsFunc(until, func(t time.Time) bool { return t.After(first) }) {
		which = ", the first by "
	}
	return which + first.UTC().Format("15:04 UTC")
}

func lowerFirst(s string) string {
	if s == "" {
		return "needs a decision"
	}
	return strings.ToLower(s[:1]) + s[1:]
}
