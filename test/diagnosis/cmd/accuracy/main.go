// Command accuracy replays the corpus of labelled incidents, plays the others in the fleet simulator, and says how
// often the bot is right.
//
//	go run ./test/diagnosis/cmd/accuracy               # all; fails unless README.md and accuracy.txt say the same
//	go run ./test/diagnosis/cmd/accuracy --run kv      # incidents whose name matches
//	go run ./test/diagnosis/cmd/accuracy --engines kv  # the simulated fleet's last five minutes, without the bot
//	go run ./test/diagnosis/cmd/accuracy --full kv     # the bot's whole answer as JSON
//	go run ./test/diagnosis/cmd/accuracy --update      # all of it, and write README.md and accuracy.txt
//	go run ./test/diagnosis/cmd/accuracy --first NAME  # the one first run of the blind corpus blind/NAME.yaml
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/test/diagnosis"
	"github.com/vllm-medic/vllm-medic/test/diagnosis/play"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	fs := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	home := fs.String("folder", "test/diagnosis", "the `FOLDER` with corpus, README.md and accuracy.txt")
	update := fs.Bool("update", false, "write README.md's lists and accuracy.txt from this run")
	first := fs.String("first", "", "make the one first run of the blind corpus `NAME` and write down what it found")
	only := fs.String("run", "", "only incidents whose name matches `REGEXP`")
	engines := fs.String("engines", "", "print what the fleets of matching incidents did, without the bot: `REGEXP`")
	full := fs.String("full", "", "print the bot's whole answer about matching incidents as JSON: `REGEXP`")
	workers := fs.Int("workers", runtime.GOMAXPROCS(0), "how many incidents at a time")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *update && *only+*engines+*full != "" {
		return errors.New("--update needs the whole corpus: leave out --run, --engines and --full")
	}
	app.LogClientGo(slog.New(slog.DiscardHandler))
	c := played{home: *home, workers: *workers, out: out, progress: progress}
	if *first != "" {
		return c.first(ctx, *first)
	}
	incidents, err := diagnosis.Read(filepath.Join(*home, "corpus"))
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only + *engines + *full)
	if err != nil {
		return fmt.Errorf("--run, --engines, --full: %w", err)
	}
	incidents = slices.DeleteFunc(incidents, func(i diagnosis.Incident) bool { return !pattern.MatchString(i.Name) })
	if *engines != "" {
		return errors.Join(summaries(out, incidents), c.engines(ctx, pattern))
	}
	folder, err := os.MkdirTemp("", "accuracy-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	score, err := replay(ctx, incidents, *workers, folder, *full != "", out, progress)
	if err != nil {
		return err
	}
	section, err := c.all(ctx, pattern, folder, *full != "")
	if err != nil {
		return err
	}
	readme, number := filepath.Join(*home, "README.md"), filepath.Join(*home, "accuracy.txt")
	switch {
	case *update:
		return errors.Join(score.Update(readme, number), play.Update(readme, section))
	case *only+*full == "":
		return errors.Join(score.Holds(readme, number), play.Holds(readme, section))
	default:
		return nil
	}
}

func replay(ctx context.Context, incidents []diagnosis.Incident, workers int, folder string, full bool, out,
	progress io.Writer,
) (diagnosis.Score, error) {
	if len(incidents) == 0 {
		return nil, nil // a pattern that is for played ones
	}
	r, err := diagnosis.NewReplayer()
	if err != nil {
		return nil, err
	}
	began, n, wrong := time.Now(), 0, 0
	tty := isatty.IsTerminal(os.Stderr.Fd())
	score, err := r.Run(ctx, incidents, workers, folder, func(res diagnosis.Result) {
		n++
		if !res.Right() {
			wrong++
		}
		if tty {
			say(progress, "\r\x1b[K%d of %d, %d wrong, %s  %s", n, len(incidents), wrong, time.Since(began).Round(time.Second),
				res.Incident.Name)
		}
	})
	if tty {
		say(progress, "\r\x1b[K")
	}
	if err != nil {
		return nil, err
	}
	if full {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		for _, res := range score {
			if err := enc.Encode(res.Answer.Full); err != nil {
				return nil, err
			}
		}
	}
	if err := score.Report(out); err != nil {
		return nil, err
	}
	say(progress, "in %s\n", time.Since(began).Round(time.Second))
	return score, nil
}

func summaries(out io.Writer, incidents []diagnosis.Incident) error {
	for _, inc := range incidents {
		table, err := diagnosis.Table(inc.Summaries())
		if err != nil {
			return err
		}
		say(out, "%s: %s (%s, %s)\n%s", inc.Name, inc.Truth, inc.Dialect, inc.Generation, table)
		for _, p := range inc.Check() {
			say(out, "  impossible: %s\n", p)
		}
		say(out, "\n")
	}
	return nil
}

// say prints for a person. A terminal that is gone cannot be told so.
func say(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, fmt.Sprintf(format, args...))
}
