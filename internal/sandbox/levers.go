package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// lever is something that people can break, and turn off again.
type lever struct {
	// Name is what the keyboard and the page call it.
	Name string `json:"name"`
	// Title, Does and Shows are for people: what it does, and what then can be seen.
	Title string `json:"title"`
	Does  string `json:"does"`
	Shows string `json:"shows"`
	// turn sets it on the fleet's levers; nil for one that is no matter of the fleet.
	turn func(*fleet.Levers, *world)
}

// traffic is the lever that the rounds pull.
const traffic = "traffic"

// What the levers do.
const (
	trafficFactor = 5
	floodFactor   = 6 // of the second round
	promptFactor  = 3
	sickFactor    = 20
	kvHeld        = .97
	impatience    = 4 * time.Second
)

// levers are all of them, in the order of the page.
func levers() []lever {
	return []lever{
		{
			Name: traffic, Title: "Traffic x5", Does: "five times as many requests arrive",
			Shows: "Requests queue, and the bot asks whether to throttle or to scale.",
			turn:  func(l *fleet.Levers, w *world) { l.Traffic = w.traffic },
		},
		{
			Name: "prompts", Title: "Long prompts", Does: "new prompts are three times as long",
			Shows: "Prefill takes all the time, and the bot asks whether to throttle or to scale.",
			turn:  func(l *fleet.Levers, _ *world) { l.Prompt = promptFactor },
		},
		{
			Name: "cache", Title: "Prefix cache lost", Does: "no prompt begins like another one, so nothing of it is cached",
			Shows: "TTFT rises, and there is nothing to approve: someone has to find out what changed.",
			turn:  func(l *fleet.Levers, _ *world) { l.PrefixMiss = 1 },
		},
		{
			Name: "gpu", Title: "One sick GPU", Does: "one replica takes twenty times as long for each step",
			Shows: "The bot finds one bad pod, and there is nothing to approve: someone has to take it out.",
			turn: func(l *fleet.Levers, w *world) {
				if all := w.fleet.State().Replicas; len(all) > 0 {
					l.Pods = map[string]fleet.PodLever{all[0].Name: {Slow: sickFactor}}
				}
			},
		},
		{
			Name: "clients", Title: "Impatient clients", Does: "clients hang up on answers that take more than 4 s",
			Shows: "The fleet is fine and the gateway sees the aborts. There is nothing to approve: the cause is outside vLLM.",
			turn:  func(l *fleet.Levers, _ *world) { l.AnswerWithin = fleet.Duration(impatience) },
		},
		{
			Name: "kv", Title: "KV squeeze", Does: "97% of each KV cache is held by transfers that nobody fetches",
			Shows: "Requests wait for space in the cache, and the bot asks whether to throttle or to scale.",
			turn:  func(l *fleet.Levers, _ *world) { l.AllPods.KVHeld = kvHeld },
		},
		{
			Name: "prometheus", Title: "Lost Prometheus", Does: "Prometheus is down: no readings, no new alerts",
			Shows: "Nothing new is found, and nothing is changed without readings.",
		},
		{
			Name: "slack", Title: "Lost Slack", Does: "Slack is down: nothing is posted, and no button works",
			Shows: "The bot keeps working, and posts what happened when Slack is back.",
		},
	}
}

// leverNamed finds a lever.
func leverNamed(name string) (lever, bool) {
	all := levers()
	i := slices.IndexFunc(all, func(l lever) bool { return l.Name == name })
	if i < 0 {
		return lever{}, false
	}
	return all[i], true
}

// pulled are the levers that are on.
type pulled struct {
	mu sync.Mutex
	on map[string]bool
}

// isOn says whether a lever is.
func (p *pulled) isOn(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.on[name]
}

// levers are all of them as they are now, with which are on: traffic says how many times as many requests arrive, and
// what alone shows nothing says so.
func (w *world) levers() []leverState {
	w.pulled.mu.Lock()
	defer w.pulled.mu.Unlock()
	var out []leverState
	for _, l := range levers() {
		out = append(out, leverState{lever: w.now(l), On: w.pulled.on[l.Name]})
	}
	return out
}

// now is a lever as it is now. The caller holds the lock.
func (w *world) now(l lever) lever {
	if l.Name == traffic && w.traffic != trafficFactor {
		l.Title, l.Does = fmt.Sprintf("Traffic x%g", w.traffic), fmt.Sprintf("%g times as many requests arrive", w.traffic)
	}
	broken := func(o lever) bool { return o.turn != nil && w.pulled.on[o.Name] }
	if l.turn == nil && !slices.ContainsFunc(levers(), broken) {
		l.Shows += " While the fleet is calm there is nothing to see: now press Traffic x5."
	}
	return l
}

// pull turns a lever on or off. Turning it to what it is changes nothing.
func (w *world) pull(name string, on bool) error {
	l, ok := leverNamed(name)
	if !ok {
		return fmt.Errorf("there is no lever %q", name)
	}
	w.pulled.mu.Lock()
	defer w.pulled.mu.Unlock()
	if w.pulled.on[name] == on {
		return nil
	}
	return w.turn(l, on)
}

// flood sets how many times as many requests arrive, and turns that on.
func (w *world) flood(factor float64) error {
	l, _ := leverNamed(traffic)
	w.pulled.mu.Lock()
	defer w.pulled.mu.Unlock()
	w.traffic = factor
	return w.turn(l, true)
}

// turn turns a lever and tells it. The caller holds the lock.
func (w *world) turn(l lever, on bool) error {
	w.pulled.on[l.Name] = on
	is := w.now(l)
	switch l.Name {
	case "prometheus":
		w.monitor.lost.Store(on)
	case "slack":
		w.loseSlack(on)
	default:
		if err := w.turnFleet(); err != nil {
			return err
		}
	}
	if on {
		text := is.Title + ". " + upperFirst(is.Does) + "."
		if l.turn == nil {
			text += " " + is.Shows
		}
		w.say("Broken on purpose: %s", text)
		w.meter.mark(is.Title)
		return nil
	}
	if l.Name == traffic {
		w.traffic = trafficFactor
	}
	w.say("Turned off: %s.", is.Title)
	w.meter.mark(is.Title + " off")
	return nil
}

// turnFleet puts all levers of the fleet that are on together. The caller holds the lock.
func (w *world) turnFleet() error {
	before := w.fleet.Levers()
	var next fleet.Levers
	for _, l := range levers() {
		if l.turn != nil && w.pulled.on[l.Name] {
			l.turn(&next, w)
		}
	}
	if before.Pods != nil && next.Pods != nil {
		next.Pods = before.Pods // the same GPU stays sick
	}
	if err := w.fleet.SetLevers(next); err != nil {
		return err
	}
	if next.PrefixMiss > 0 && before.PrefixMiss == 0 {
		w.fleet.DropPrefixCaches()
	}
	return nil
}

// loseSlack takes Slack away or gives it back. The page goes on showing what it knew.
func (w *world) loseSlack(on bool) {
	if !on {
		w.slack.Outage(0)
		return
	}
	w.slack.Outage(http.StatusServiceUnavailable)
	w.slack.CutSockets()
}
