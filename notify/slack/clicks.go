package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Clicks keeps what was accepted, so that a click that Slack was told is taken survives the end of the process.
type Clicks interface {
	// AddClick keeps an interaction. A nil error promises that it survives a crash. It answers false, and keeps nothing,
	// when one with the same identity was kept before, even if that is finished; an empty identity is nobody's.
	AddClick(ctx context.Context, at time.Time, identity string, payload []byte) (bool, error)
	// ClaimClick takes the oldest that nobody works on for owner until the lease ends; false when there is none.
	ClaimClick(ctx context.Context, owner string, now time.Time, lease time.Duration) (incident.Click, bool, error)
	// FinishClick forgets a claimed one. It answers incident.ErrFenced when somebody else has it.
	FinishClick(ctx context.Context, c incident.Click) error
}

const (
	// keepTimeout bounds the commit of a click: Slack waits three seconds for the answer.
	keepTimeout = 2 * time.Second
	// finishTimeout bounds the commit after it.
	finishTimeout = 5 * time.Second
)

// maxAnswers is how often Slack takes an answer to one click (docs.slack.dev/interactivity/handling-user-interaction).
const maxAnswers = 5

// tooLate is said to a person whose click was kept while nobody could handle it.
const tooLate = "The bot was unavailable when you clicked, and the click has expired. Nothing was changed. Check the " +
	"message and click again."

// tooLateCommand is said to a person whose command was kept while nobody could handle it.
const tooLateCommand = "The bot was unavailable when you sent this command, and it has expired. Nothing was changed. " +
	"Send it again."

// Part is the part of the program for whose work a panic is counted.
const Part = "clicks"

// clickTries is how often a click is tried that meets an error in the program.
const clickTries = 3

// brokenClick is said to a person whose click the program fails over.
const brokenClick = "An internal error stopped this click, several times in a row, and it will not be tried again. " +
	"Check the message for what has been recorded; the log of the bot has the details."

// Enqueue keeps a payload whose origin has been proven, and hands it to Run, here or in another replica. After an error
// the sender must not be told that the click was taken. It may be called again with the same click, which Slack repeats
// when it got no answer in time, also to another replica: the repeat is taken and nothing comes of it.
func (i *Interactions) Enqueue(ctx context.Context, payload []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, keepTimeout,
		fmt.Errorf("keeping a click took longer than %s", keepTimeout))
	defer cancel()
	added, err := i.clicks.AddClick(ctx, i.now(), identityOf(payload), payload)
	if err != nil {
		return err
	}
	if !added {
		i.logger.InfoContext(ctx, "Slack delivered a click again; it was taken before")
		return nil
	}
	select {
	case i.wake <- struct{}{}:
	default: // it looks already
	}
	return nil
}

// Run handles clicks until ctx ends, waits for those under way (InteractionsConfig.Drain), and returns nil. What is not
// handled then stays kept. It is called once.
func (i *Interactions) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var wg sync.WaitGroup
	places := make(chan struct{}, i.cfg.Workers)
	wg.Go(func() {
		_ = i.panics.Keep(ctx, Part, func(ctx context.Context) error {
			i.work(ctx, work, places, &wg)
			return nil
		})
	})
	<-ctx.Done()
	drain := time.AfterFunc(i.cfg.Drain, func() { stop(errors.New("the process ends")) })
	defer drain.Stop()
	wg.Wait()
	return nil
}

// work begins clicks until ctx ends, as many at the same time as there are places; work bounds those under way.
func (i *Interactions) work(ctx, work context.Context, places chan struct{}, under *sync.WaitGroup) {
	tick := time.NewTicker(i.cfg.Sweep)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case places <- struct{}{}:
		}
		begun, err := i.begin(work, places, under)
		i.report(work, err)
		if begun {
			continue
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-i.wake:
		}
	}
}

// begin claims a click and handles it in the background, in a place that it gives back. It says whether there was one.
func (i *Interactions) begin(ctx context.Context, places chan struct{}, under *sync.WaitGroup) (begun bool, err error) {
	defer func() {
		if !begun {
			<-places
		}
	}()
	c, found, err := i.clicks.ClaimClick(ctx, i.cfg.Owner, i.now(), i.cfg.Lease)
	if err != nil || !found {
		return false, err
	}
	under.Go(func() {
		defer func() { <-places }()
		if err := i.panics.Do(ctx, Part, func() error { return i.do(ctx, c) }); err != nil {
			i.report(ctx, err)
		}
	})
	return true, nil
}

// report logs an error of the store when it is new, and its end.
func (i *Interactions) report(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	i.mu.Lock()
	news := text != i.broken
	i.broken = text
	i.mu.Unlock()
	switch {
	case news && err != nil:
		i.logger.ErrorContext(ctx, "clicks cannot be read from the store; they are late", "err", err)
	case news:
		i.logger.InfoContext(ctx, "clicks can be read from the store again")
	}
}

// do handles a claimed click. The error is the store's.
func (i *Interactions) do(ctx context.Context, c incident.Click) error {
	done := false
	err := i.panics.Do(ctx, Part, func() error {
		done = i.take(ctx, c)
		return nil
	}, slog.Int64("click", c.ID), slog.Int64("attempt", c.Fence))
	switch {
	case err != nil && c.Fence < clickTries:
		return nil // it comes back after its lease
	case err != nil:
		i.giveUp(ctx, c)
	case !done:
		return nil // cut off by the end of the process: the next one does it
	}
	return i.finish(ctx, c)
}

// handled does what was kept: a click, or a command.
func (i *Interactions) handled(ctx context.Context, kept incident.Click) Answer {
	if c, ok := decodeCommand(kept.Payload); ok {
		return i.obeyed(ctx, c, kept.ReceivedAt)
	}
	return i.Handle(ctx, kept)
}

// take handles a click and says whether that came to an end.
func (i *Interactions) take(ctx context.Context, c incident.Click) bool {
	if age := i.now().Sub(c.ReceivedAt); age > i.cfg.Window {
		i.refuseLate(ctx, c, age)
		return true
	}
	a := i.handled(ctx, c)
	if !a.Decided && ctx.Err() != nil {
		return false
	}
	i.answer(ctx, c, a)
	return true
}

// finish forgets a click.
func (i *Interactions) finish(ctx context.Context, c incident.Click) error {
	done, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if err := i.clicks.FinishClick(done, c); err != nil && !errors.Is(err, incident.ErrFenced) {
		return err // it comes back after its lease: see Handle and obeyed
	}
	return nil
}

// giveUp tells the person that the program fails over this click.
func (i *Interactions) giveUp(ctx context.Context, c incident.Click) {
	_ = i.panics.Do(ctx, Part, func() error {
		a, err := answerTo(c.Payload, brokenClick)
		if err != nil {
			return err
		}
		i.answer(ctx, c, a)
		return nil
	}, slog.Int64("click", c.ID))
}

// refuseLate tells the person that nothing came of a click.
func (i *Interactions) refuseLate(ctx context.Context, c incident.Click, age time.Duration) {
	i.logger.WarnContext(ctx, "a click came too late and was not acted on", "click", c.ID, "reason",
		fmt.Sprintf("it is %s old", age.Round(time.Second)))
	text := tooLate
	if _, ok := decodeCommand(c.Payload); ok {
		text = tooLateCommand
	}
	if a, err := answerTo(c.Payload, text); err == nil {
		i.answer(ctx, c, a)
	}
}

// answer tells the person, unless earlier claims may have used up what Slack takes of answers to one click.
func (i *Interactions) answer(ctx context.Context, c incident.Click, a Answer) {
	if c.Fence > maxAnswers {
		i.logger.WarnContext(ctx, "a click is not answered any more", "click", c.ID, "attempt", c.Fence, "reason",
			"the bot ended again and again while it handled it")
		return
	}
	i.respond(ctx, a)
}
