package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// guide leads through two rounds: one in which a change heals, and one in which it makes things worse and is undone.
type guide struct {
	world   *world
	watcher *watcher
	teller  *teller
	// script presses the buttons itself and gives up when something takes too long.
	script bool

	// next has a value when a person asks for the second round.
	next chan struct{}

	mu    sync.Mutex
	scene scene
	// story is what the rounds have shown so far, a sentence or two each.
	story []string
}

// scene is where the guide is, for the page.
type scene struct {
	Round int    `json:"round"`
	Title string `json:"title"`
	Text  string `json:"text"`
	// Waits is what happens next, or what is waited for.
	Waits string `json:"waits"`
	Since int64  `json:"since"` // Unix seconds
	// Yours says that a person has to do something.
	Yours bool `json:"yours"`
	// Next says that the next round can be asked for, and Free that there is none any more.
	Next bool `json:"next"`
	Free bool `json:"free"`
	// Story sums up the rounds when they are over, and Command is what to run next.
	Story   []string `json:"story,omitempty"`
	Command string   `json:"command,omitempty"`
}

func newGuide(w *world, watch *watcher, t *teller, script bool) *guide {
	return &guide{world: w, watcher: watch, teller: t, script: script, next: make(chan struct{}, 1)}
}

// goOn asks for the second round. It may be called at any time; before the first round is over it counts then.
func (g *guide) goOn() {
	select {
	case g.next <- struct{}{}:
	default:
	}
}

func (g *guide) at() scene {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.scene
}

// show sets the scene and says it.
func (g *guide) show(s scene) {
	s.Since = time.Now().Unix()
	g.mu.Lock()
	s.Round = max(s.Round, g.scene.Round)
	g.scene = s
	g.mu.Unlock()
	g.teller.head("%s %s", s.Title, s.Text)
	if s.Yours {
		g.teller.head("Waiting %s", s.Waits)
	}
}

// limits of what the script waits for. A person may take any time.
const (
	detectWithin = 90 * time.Second
	healWithin   = 90 * time.Second
	closeWithin  = 90 * time.Second
	undoWithin   = 2 * time.Minute
)

// run leads through both rounds. Without script it waits for the person before the second one.
func (g *guide) run(ctx context.Context) error {
	if err := g.heal(ctx); err != nil {
		return fmt.Errorf("round 1: %w", err)
	}
	g.show(scene{
		Title: "Round 1 is over.", Yours: !g.script, Next: !g.script,
		Text:  "The change healed the fleet, and the incident closed.",
		Waits: "for you to start round 2. At the keyboard, type next.",
	})
	if !g.script {
		select {
		case <-ctx.Done():
			return nil
		case <-g.next:
		}
	}
	if err := g.worsen(ctx); err != nil {
		return fmt.Errorf("round 2: %w", err)
	}
	g.free()
	return nil
}

// asks says that the bot asks whether to change something; offers that it asks whether to roll a change back.
func asks(inc incident.Incident) bool {
	return inc.State == incident.StateDeciding && len(present.Questions(inc)) > 0
}

func offers(inc incident.Incident) bool {
	_, offered := present.Offered(inc)
	return offered && inc.State == incident.StateDeciding
}

// decide waits until the bot acts on a decision, or has acted: done. The script presses the nth button, as long as that
// is what is asked.
func (g *guide) decide(
	ctx context.Context, action string, nth int, asked func(incident.Incident) bool, done func() bool,
) error {
	var pressed time.Time
	const again = 2 * time.Second // the plan may have been renewed while the button was pressed
	return g.until(ctx, healWithin, "the decision", func() bool {
		inc, ok := g.watcher.incident()
		if ok && inc.State.Running() || done() {
			return true
		}
		if g.script && ok && asked(inc) && time.Since(pressed) > again {
			pressed = time.Now()
			if _, err := g.world.press(ctx, action, nth); err != nil && !errors.Is(err, errNoButton) {
				g.world.say("The button could not be pressed: %v.", err)
			}
		}
		return false
	})
}

func (g *guide) closed(ctx context.Context) error {
	return g.until(ctx, closeWithin, "the incident to close", func() bool {
		inc, ok := g.watcher.incident()
		return ok && inc.State == incident.StateClosed
	})
}

// target is the TTFT p95 that the pool has to keep.
const target = 2.0

// ttft is how long clients wait for the first token, and whether that is in time.
func (g *guide) ttft() (text string, fast bool) {
	all := g.world.meter.last(1)
	if len(all) == 0 || all[0].TTFT < 0 {
		return "unknown", false
	}
	return fmt.Sprintf("%.2f s (target: %.1f s)", all[0].TTFT, target), all[0].TTFT <= target
}

// How often a wait says what it waits for: often in the first minute, then now and then.
const (
	tell       = 10 * time.Second
	tellSeldom = time.Minute
)

// until waits for a condition and says what for. Only the script gives up.
func (g *guide) until(ctx context.Context, limit time.Duration, what string, done func() bool) error {
	begin := time.Now()
	tick := time.NewTicker(look)
	defer tick.Stop()
	next := begin.Add(tell)
	for !done() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case now := <-tick.C:
			if g.script && now.Sub(begin) > limit {
				return fmt.Errorf("waited %v for %s: %s", limit, what, g.watcher.doing())
			}
			if now.After(next) {
				next = now.Add(tell)
				if now.Sub(begin) >= tellSeldom {
					next = now.Add(tellSeldom)
				}
				g.teller.remind("Waiting for %s (%.0f s). %s", what, now.Sub(begin).Seconds(), g.fleetLine())
			}
		}
	}
	return nil
}

// fleetLine is the fleet in a line.
func (g *guide) fleetLine() string {
	all := g.world.meter.last(1)
	if len(all) == 0 {
		return ""
	}
	s := all[0]
	ttft, _ := g.ttft()
	line := fmt.Sprintf("Fleet: %d replicas, %d requests running, %d waiting, TTFT p95 %s.",
		s.Replicas, s.Running, s.Waiting, ttft)
	if s.Failed >= .1 {
		line += fmt.Sprintf(" Failing: %.1f of %.1f requests per second.", s.Failed, s.Demand)
	}
	if alerts := g.world.monitor.alerts(); alerts != "" {
		line += " Alerts: " + alerts + "."
	}
	return line
}
