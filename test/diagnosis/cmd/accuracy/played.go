package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/test/diagnosis/play"
)

// played plays the incidents that the fleet simulator plays.
type played struct {
	home          string
	workers       int
	out, progress io.Writer
}

func (c played) read() (ordinary []play.Incident, blind []play.Blind, err error) {
	ordinary, errOrdinary := play.Read(filepath.Join(c.home, "played"))
	blind, errBlind := play.ReadBlind(filepath.Join(c.home, "blind"))
	errs := []error{errOrdinary, errBlind}
	for _, b := range blind {
		errs = append(errs, b.Check(ordinary))
	}
	return ordinary, blind, errors.Join(errs...)
}

// first makes the first run of a blind corpus. It tells nothing before it has written down everything.
func (c played) first(ctx context.Context, name string) (err error) {
	_, blind, err := c.read()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(blind, func(b play.Blind) bool { return b.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no blind corpus %s", filepath.Join(c.home, "blind", name+".yaml"))
	}
	b := blind[i]
	if err := b.MayRun(); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "accuracy-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	score, err := c.run(ctx, b.Incidents, folder)
	if err != nil {
		return err
	}
	if err := b.Write(score); err != nil {
		return err
	}
	say(c.out, "%s, first contact: %s\n%s", name, score.Count(), score.Report())
	return nil
}

// engines shows what the engines of matching incidents do, without the bot; blind ones, too.
func (c played) engines(ctx context.Context, pattern *regexp.Regexp) error {
	all, blind, err := c.read()
	for _, b := range blind {
		all = append(all, b.Incidents...)
	}
	for _, inc := range all {
		if err != nil || !pattern.MatchString(inc.Name) {
			continue
		}
		var table string
		table, err = play.Engines(ctx, inc)
		say(c.out, "%s: %s (%s, vLLM %s)\n%s\n", inc.Name, inc.Truth, inc.Dialect, inc.Version, table)
	}
	return err
}

// all plays everything that matches but for blind corpora before their first run, prints it, and returns README.md's
// table.
func (c played) all(ctx context.Context, pattern *regexp.Regexp, folder string, full bool) (string, error) {
	ordinary, blind, err := c.read()
	if err != nil {
		return "", err
	}
	incidents := ordinary
	for _, b := range blind {
		if b.First == nil {
			say(c.out, "blind corpus %s has had no first run: accuracy --first %s\n", b.Name, b.Name)
			continue
		}
		incidents = append(incidents, b.Incidents...)
	}
	incidents = slices.DeleteFunc(slices.Clone(incidents), func(i play.Incident) bool {
		return !pattern.MatchString(i.Name)
	})
	if len(incidents) == 0 {
		return "", nil
	}
	score, err := c.run(ctx, incidents, folder)
	if err != nil {
		return "", err
	}
	if full {
		enc := json.NewEncoder(c.out)
		enc.SetIndent("", "  ")
		for _, r := range score {
			if err := enc.Encode(r.Answer.Full); err != nil {
				return "", err
			}
		}
	}
	say(c.out, "\nplayed in the fleet simulator:\n%s", score.Report())
	for _, line := range play.Table(score, ordinary, blind) {
		say(c.out, "%s: first contact %s; now %s\n", line.Corpus, line.First, line.Now)
	}
	before, err := play.KnownMisses(filepath.Join(c.home, "README.md"))
	if err != nil {
		return "", err
	}
	return play.Section(score, ordinary, blind, before), nil
}

func (c played) run(ctx context.Context, incidents []play.Incident, folder string) (play.Score, error) {
	p, err := play.NewPlayer()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	score, err := p.Run(ctx, incidents, c.workers, folder, nil)
	say(c.progress, "played %d in %s\n", len(incidents), time.Since(began).Round(time.Second))
	return score, err
}
