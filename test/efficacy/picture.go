package efficacy

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

// looks are how the hands are drawn: a color that tells them apart for most eyes (Okabe and Ito's), and a mark that
// tells them apart without it.
var looks = map[string]struct{ color, mark string }{
	Nobody:  {"#767676", "M-4,-4L4,4M-4,4L4,-4"},
	HPA:     {"#d55e00", "M-4,-4H4V4H-4Z"},
	Naive:   {"#b07aa1", "M0,-5L5,4H-5Z"},
	Human:   {"#0072b2", "M0,-5L5,0L0,5L-5,0Z"},
	Instant: {"#009e73", "M-4,0A4,4 0 1 0 4,0A4,4 0 1 0 -4,0Z"},
}

const (
	pictureWidth = 400 // as wide as a phone, so that its letters are as large there
	font         = 11
)

// drawing is a picture that grows.
type drawing struct{ strings.Builder }

func (d *drawing) add(format string, args ...any) {
	_, _ = fmt.Fprintf(&d.Builder, format, args...) // a builder takes everything
}

func (d *drawing) text(x, y float64, anchor, color, text string) {
	d.add("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, anchor, color,
		html.EscapeString(text))
}

func (d *drawing) line(x1, y1, x2, y2 float64, color string, width float64) {
	d.add("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n",
		x1, y1, x2, y2, color, width)
}

func (d *drawing) mark(x, y float64, hand string) {
	look := looks[hand]
	fill := look.color
	if hand == Nobody {
		fill = "none"
	}
	d.add("<path transform=\"translate(%.1f %.1f)\" d=\"%s\" fill=\"%s\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
		x, y, look.mark, fill, look.color)
}

func (d *drawing) svg(height float64, title string) string {
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "+
		"font-family=\"system-ui, sans-serif\" font-size=\"%d\" role=\"img\">\n<title>%s</title>\n"+
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s</svg>\n",
		pictureWidth, height, pictureWidth, height, font, html.EscapeString(title), d.String())
}

const (
	ink  = "#1f2328"
	pale = "#59636e"
	grid = "#d8dee4"
)

// legend writes the hands in a row each time that there is room, and returns where it ends.
func (d *drawing) legend(y float64, hands []string) float64 {
	x := 12.
	for _, hand := range hands {
		wide := 24 + 6.2*float64(len(hand))
		if x+wide > pictureWidth {
			x, y = 12, y+18
		}
		d.mark(x, y-4, hand)
		d.text(x+9, y, "start", ink, hand)
		x += wide
	}
	return y
}

// Picture shows the minutes of violation by script and hand.
func (r Results) Picture() string {
	const left, right, row = 104., 14., 22.
	var d drawing
	top := d.legend(20, Hands()) + 16
	scale := func(minutes float64) float64 { return left + minutes/45*(pictureWidth-left-right) }
	bottom := top + row*float64(len(r.scripts())) + 6
	for m := 0.; m <= 45; m += 15 {
		d.line(scale(m), top, scale(m), bottom, grid, 1)
		d.text(scale(m), bottom+14, "middle", pale, fmt.Sprintf("%.0f", m))
	}
	d.text(scale(22.5), bottom+29, "middle", pale, "minutes in which the SLO was violated, of 45")
	for i, script := range r.scripts() {
		y := top + row*(float64(i)+.5) + 2
		d.text(left-8, y+4, "end", ink, script)
		for _, hand := range Hands() {
			values := r.of(script, hand).each(violation)
			mean, half := trial.Interval(values)
			if len(values) >= fewest && half > .3 {
				d.line(scale(max(0, mean-half)), y, scale(min(45, mean+half)), y, looks[hand].color, 2)
			}
			d.mark(scale(mean), y, hand)
		}
	}
	return d.svg(bottom+38, "Minutes in which the SLO was violated, by script and hand")
}

// Timeline shows one script with one seed under nobody, the autoscaler and the bot with instant approval: how long
// clients waited, and what the bot did.
func (r Results) Timeline(script string, seed uint64) (string, error) {
	const left, right, top, bottom = 44., 12., 50., 230.
	s, err := trial.Find(script)
	if err != nil {
		return "", err
	}
	var d drawing
	hands := []string{Nobody, HPA, Instant}
	d.legend(20, hands)
	d.text(12, 40, "start", pale, "TTFT p95 of the calls that arrive in a minute")
	scaleX := func(minutes float64) float64 { return left + minutes/s.For.Minutes()*(pictureWidth-left-right) }
	const least, most = .1, 100. // seconds
	scaleY := func(seconds float64) float64 {
		part := math.Log(min(max(seconds, least), most)/least) / math.Log(most/least)
		return bottom - part*(bottom-top)
	}
	for _, tick := range []float64{.1, 1, 10, 100} {
		d.line(left, scaleY(tick), pictureWidth-right, scaleY(tick), grid, 1)
		label := fmt.Sprintf("%g s", tick)
		if tick == most {
			label = "never"
		}
		d.text(left-5, scaleY(tick)+4, "end", pale, label)
	}
	target := scaleY(trial.DefaultSLO().FirstToken.Seconds())
	d.line(left, target, pictureWidth-right, target, "#cf222e", 1)
	d.text(pictureWidth-right, target-4, "end", "#cf222e", "target 2.5 s")
	for m := 0.; m <= s.For.Minutes(); m += 15 {
		d.text(scaleX(m), bottom+15, "middle", pale, fmt.Sprintf("%.0f", m))
	}
	d.text(scaleX(s.For.Minutes()/2), bottom+30, "middle", pale, "minutes")
	var events []string
	for _, hand := range hands {
		for _, p := range r.of(script, hand) {
			if p.Seed != seed {
				continue
			}
			var path strings.Builder
			for i, m := range p.Minutes {
				fmt.Fprintf(&path, "%s%.1f,%.1f", map[bool]string{true: "M", false: "L"}[i == 0], scaleX(float64(i)+.5),
					scaleY(m.FirstToken.Seconds()))
			}
			d.add("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", path.String(), looks[hand].color)
			for _, e := range p.events() {
				events = append(events, fmt.Sprintf("%4.1f min  %s", e.at, e.text))
				d.line(scaleX(e.at), top, scaleX(e.at), bottom, looks[Instant].color, .7)
				d.text(scaleX(e.at)+2, top+10, "start", looks[Instant].color, fmt.Sprint(len(events)))
			}
		}
	}
	y := bottom + 52.
	for i, text := range events {
		d.text(12, y, "start", ink, fmt.Sprintf("%d", i+1))
		d.text(30, y, "start", ink, text)
		y += 16
	}
	return d.svg(y, "One play of "+script+": time to the first token, and what the bot did"), nil
}

// event is something that the bot did, in minutes since the measuring began.
type event struct {
	at   float64
	text string
}

// events are what the timeline shows of the bot.
func (r Result) events() []event {
	var out []event
	words := map[incident.EventKind]string{
		incident.KindAsked: "the bot asks", incident.KindDecided: "approved", incident.KindWritten: "written",
		incident.KindClosed: "the incident is closed",
	}
	for _, inc := range r.Incidents {
		for _, e := range inc.Journal {
			text, shown := words[e.Kind]
			at := e.At.Sub(r.Epoch) - trial.WarmUp
			if !shown || at > time.Duration(len(r.Minutes))*time.Minute {
				continue
			}
			if s, ok := inc.Step(e.Step); ok {
				text += ": " + lower(s.Title)
			}
			if n := len(out); n == 0 || out[n-1].text != text {
				out = append(out, event{at.Minutes(), text})
			}
		}
	}
	return out
}

func lower(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToLower(text[:1]) + text[1:]
}
