package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// heal is the first round: a burst that a throttle holds back until it has passed.
func (g *guide) heal(ctx context.Context) error {
	g.show(scene{
		Round: 1, Title: "Round 1: a change that helps.",
		Text:  "Two replicas of " + modelName + " answer almost four requests a second.",
		Waits: "for a few seconds, in which all is well.",
	})
	begin := time.Now().Unix()
	if err := g.until(ctx, detectWithin, "five readings of the fleet", func() bool {
		all := g.world.meter.last(5)
		return len(all) == 5 && all[0].At > begin && all[0].TTFT >= 0
	}); err != nil {
		return err
	}
	if err := g.world.pull("traffic", true); err != nil {
		return err
	}
	g.show(scene{
		Title: "A burst: five times as many requests arrive.",
		Text:  "Two replicas can't keep up: requests queue, and TTFT rises.",
		Waits: "for the alert rules to fire and the bot to investigate, about half a minute.",
	})
	before, err := g.asked(ctx, scene{
		Title: "Your turn.",
		Waits: "for you to press the green button, or to type approve in the terminal.",
	}, 1)
	if err != nil {
		return err
	}
	clicked := time.Now()
	g.show(scene{
		Title: "Approved.", Text: "The bot checks everything once more, then makes the change.",
		Waits: "for the queue to drain, and for the bot to verify that it helped.",
	})
	var ttft string
	if err := g.until(ctx, healWithin, "the fleet to heal", func() bool {
		inc, ok := g.watcher.incident()
		fast := false
		ttft, fast = g.ttft()
		return ok && g.world.settings() != before && !inc.HealthySince.IsZero() && fast
	}); err != nil {
		return err
	}
	healed := time.Since(clicked)
	g.world.say("Healed %s after the approval: %s, TTFT p95 %s.", seconds(healed), g.world.settings().since(before), ttft)
	inc, _ := g.watcher.incident()
	if g.world.settings().limit < before.limit {
		g.keep("Round 1: %s %s later, TTFT was below its target again, while the burst continued. Then the bot reverted "+
			"the throttle on its own.", approved(inc), seconds(healed))
		return g.passes(ctx, before)
	}
	g.keep("Round 1: %s %s later, TTFT was below its target again, while the burst continued.", approved(inc),
		seconds(healed))
	g.show(scene{
		Title: "Healed.", Text: "TTFT is below its target again. The bot watches for a while, then closes the incident.",
		Waits: "for the alerts to resolve and the incident to close.",
	})
	return g.closed(ctx)
}

// aftermath is how long the burst continues after the throttle has healed the fleet, so that everybody sees that it was
// the throttle, and not the end of the burst.
const aftermath = 8 * time.Second

// passes ends the burst that a throttle has held back; the bot then takes the throttle back on its own.
func (g *guide) passes(ctx context.Context, before settings) error {
	g.show(scene{
		Title: "Healed.", Text: "As many requests arrive as before. The throttle turns some of them away, and the rest are " +
			"answered in time.",
		Waits: "for a few seconds, in which the burst continues.",
	})
	healed := time.Now()
	if err := g.until(ctx, healWithin, "the burst to pass", func() bool {
		return time.Since(healed) >= aftermath
	}); err != nil {
		return err
	}
	if err := g.world.pull("traffic", false); err != nil {
		return err
	}
	g.show(scene{
		Title: "Healed.", Text: "The throttle turned some requests away, and the rest were answered in time. The burst is " +
			"over now.",
		Waits: "for the bot to revert the throttle after 20 s of health, without asking.",
	})
	if err := g.until(ctx, undoWithin, "the bot to revert the throttle", func() bool {
		return g.world.settings().limit == before.limit
	}); err != nil {
		return err
	}
	g.show(scene{
		Title: "Reverted.", Text: fmt.Sprintf("The limit is %d parallel requests again.", before.limit),
		Waits: "for the incident to close.",
	})
	return g.closed(ctx)
}

// worsen is the second round: a change that makes it worse and is taken back.
func (g *guide) worsen(ctx context.Context) error {
	g.show(scene{
		Round: 2, Title: "Round 2: a bigger burst.",
		Text:  fmt.Sprintf("%d times as many requests arrive as in the beginning.", floodFactor),
		Waits: "for the alert rules to fire, and for the bot to ask.",
	})
	g.world.fleet.SetWorse(true)
	if err := g.world.flood(floodFactor); err != nil {
		return err
	}
	before, err := g.asked(ctx, scene{
		Title: "Your turn.",
		Waits: "for you to press one of the first two buttons, or to type approve or approve 2.",
	}, 2)
	if err != nil {
		return err
	}
	g.show(scene{
		Title: "Approved.", Text: "The change is applied, and then measured against the readings from before.",
		Waits: "for the bot to measure what came of it.",
	})
	changed := time.Now()
	if err := g.until(ctx, undoWithin, "the bot to offer the rollback", func() bool {
		inc, ok := g.watcher.incident()
		return ok && offers(inc)
	}); err != nil {
		return err
	}
	g.show(scene{
		Title: "Your turn.", Text: "It made things worse, and the bot offers to roll it back. (In this round any change " +
			"makes every engine three times slower: think of a new pod that takes its neighbors' bandwidth.)", Yours: !g.script,
		Waits: "for you to press Roll back in Slack, or to type undo.",
	})
	found := time.Since(changed)
	undone := func() bool { return g.world.settings() == before }
	if err := g.decide(ctx, buttonUndo, 1, offers, undone); err != nil {
		return err
	}
	if err := g.until(ctx, undoWithin, "the rollback", undone); err != nil {
		return err
	}
	g.world.say("Rolled back: %d replicas and a limit of %d parallel requests again.", before.replicas, before.limit)
	g.world.fleet.SetWorse(false)
	if err := g.world.pull("traffic", false); err != nil {
		return err
	}
	g.show(scene{
		Title: "Rolled back.", Text: "The load goes back to what it was in the beginning.",
		Waits: "for the queue to drain, the alerts to resolve and the incident to close.",
	})
	if err := g.closed(ctx); err != nil {
		return err
	}
	inc, _ := g.watcher.incident()
	g.keep("Round 2: %s It made things worse. The bot said so %s later, and %s rolled it back.", approved(inc),
		seconds(found), undoneBy(inc))
	return nil
}

// asked waits for the bot to ask, shows that it is a person's turn, and waits until somebody has decided. The script
// presses the nth button, or the first where there are fewer. It returns the settings of before.
func (g *guide) asked(ctx context.Context, turn scene, nth int) (before settings, err error) {
	if err := g.until(ctx, detectWithin, "the bot to ask for approval", func() bool {
		inc, ok := g.watcher.incident()
		return ok && asks(inc) && len(g.world.shown(buttonApprove)) > 0
	}); err != nil {
		return before, err
	}
	before = g.world.settings()
	inc, _ := g.watcher.incident()
	turn.Text, turn.Yours = "The bot asks: "+question(inc), !g.script
	g.show(turn)
	return before, g.decide(ctx, buttonApprove, nth, asks, func() bool { return g.world.settings() != before })
}

// question is what the bot asks, all proposals in a line, such as "throttle 184 → 129, or scale 2 → 3?".
func question(inc incident.Incident) string {
	var all []string
	for _, s := range present.Questions(inc) {
		all = append(all, present.Change(s))
	}
	return strings.Join(all, ", or ") + "?"
}

// since says what was changed.
func (s settings) since(before settings) string {
	switch {
	case s.limit != before.limit:
		return fmt.Sprintf("a limit of %d parallel requests instead of %d", s.limit, before.limit)
	case s.replicas != before.replicas:
		return fmt.Sprintf("%d replicas instead of %d", s.replicas, before.replicas)
	}
	return "nothing was changed"
}
