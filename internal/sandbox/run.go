package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Options are how the sandbox is run.
type Options struct {
	// Listen is the address of the page; a free port of loopback when empty.
	Listen string
	// Script plays both rounds of the guide without hands and ends.
	Script bool
	// Free leaves the guide out: nothing breaks but what somebody breaks.
	Free bool
	// In is the keyboard, Out where everything is told. Styled says that Out shows what is bold and what is faint.
	In     io.Reader
	Out    io.Writer
	Styled bool
	// Log takes what the parts log.
	Log *slog.Logger
}

// Run runs the sandbox until the context ends, which is no error, or the script is over. It leaves nothing behind, and
// says so.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := folder()
	if err != nil {
		return err
	}
	begin := time.Now()
	t := &teller{out: o.Out, begin: begin, styled: o.Styled}
	defer func() {
		if err = errors.Join(err, os.RemoveAll(dir)); err == nil {
			t.say("Ended. Everything has stopped, and the temporary folder %s is removed.", dir)
		}
	}()
	asked := ctx // ends when somebody ends the sandbox
	defer context.AfterFunc(asked, func() { t.say("Ending. Waiting for the bot and everything around it to stop.") })()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.Listen == "" {
		o.Listen = loopback
	}
	page := newPage()
	w, err := build(ctx, dir, o.Listen, page.handler, o.Log, t.say)
	if errors.Is(err, context.Canceled) && asked.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	watch := newWatcher(w)
	g := newGuide(w, watch, t, o.Script)
	page.ready(g, t)
	t.say("Ready after %.1f s. Open http://%s/ and follow it there, or here with the keyboard: type help.",
		time.Since(begin).Seconds(), w.page)
	t.say("The bot's own pages: http://%s/.", w.pages)
	if w.exposed.Load() {
		t.say("The page listens on %s: everyone who can reach this machine can open it by the machine's IP address and "+
			"press its buttons. Everything else is in this process, on loopback. The bot's configuration: %s/medic.yaml.",
			o.Listen, dir)
	} else {
		t.say("Everything is in this process, on loopback. The bot's configuration: %s/medic.yaml.", dir)
	}
	t.say("The rules and the bot look back and wait %d times shorter than in production: five minutes are ten seconds "+
		"here. The fleet runs in real time.", pace)
	var wg sync.WaitGroup
	wg.Go(func() { watch.run(ctx) })
	guided := make(chan error, 1)
	go func() {
		lead := g.run
		if o.Free {
			lead = func(context.Context) error { g.free(); return nil }
		}
		err := lead(ctx)
		if o.Script || err != nil && ctx.Err() == nil {
			stop()
		}
		guided <- err
	}()
	go keyboard(ctx, o.In, w, g) // ends with the process when nothing is typed
	err = w.run(ctx)
	stop()
	wg.Wait()
	// Whoever ends the sandbox ends the guide as well; only a script has to get to its end.
	if failed := <-guided; failed != nil && (o.Script || !errors.Is(failed, context.Canceled)) {
		err = errors.Join(err, failed)
	}
	if o.Script && err == nil {
		t.say("The script is over: healed, closed, undone, closed.")
	}
	return err
}

// teller writes lines with the time since the start.
type teller struct {
	begin  time.Time
	styled bool

	mu    sync.Mutex
	out   io.Writer
	lines []line
}

// line is a line that was told.
type line struct {
	At   int64  `json:"at"` // Unix seconds
	Text string `json:"text"`
}

// remembered is how many lines the page shows.
const remembered = 200

// The styles of lines in a terminal: what is the person's turn or the next scene stands out, and what only says how
// things are steps back.
const (
	ordinary = ""
	bold     = "\x1b[1m"
	faint    = "\x1b[2m"
)

func (t *teller) say(format string, args ...any) { t.tell(ordinary, fmt.Sprintf(format, args...)) }

// head says what a new scene is about.
func (t *teller) head(format string, args ...any) { t.tell(bold, fmt.Sprintf(format, args...)) }

func (t *teller) tell(style, text string) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line{At: now.Unix(), Text: text})
	if over := len(t.lines) - remembered; over > 0 {
		t.lines = append([]line{}, t.lines[over:]...)
	}
	t.print(now, style, text)
}

// remind tells the terminal alone what is waited for, and how things are: the page shows that anyway.
func (t *teller) remind(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.print(time.Now(), faint, fmt.Sprintf(format, args...))
}

// print writes a line. A terminal that is gone cannot be told. The caller holds the lock.
func (t *teller) print(now time.Time, style, text string) {
	text = fmt.Sprintf("[%5.1f s] %s", now.Sub(t.begin).Seconds(), text)
	if t.styled && style != ordinary {
		text = style + text + "\x1b[0m"
	}
	_, _ = fmt.Fprintln(t.out, text)
}

func (t *teller) last(n int) []line {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]line{}, t.lines[max(0, len(t.lines)-n):]...)
}
