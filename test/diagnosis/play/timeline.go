package play

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/deploy/prometheus/rules"
	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// The times of a play. What is long past is scraped once a minute: the evidence compares with one point a minute of it,
// and a counter loses nothing between two scrapes.
const (
	warmUp   = 5 * time.Minute // before the past; nobody scrapes
	sparse   = time.Minute
	dense    = 15 * time.Second
	nearPast = 20 * time.Minute // is scraped as what follows it
	// evaluation is how often rules are evaluated, from ruled before the end of the past on.
	evaluation = 30 * time.Second
	ruled      = 10 * time.Minute
)

// stage is a play that goes on.
type stage struct {
	*cluster

	prom    *promembed.Prometheus
	scraper *fleet.Scraper
	speller *speller
	// zero is the end of the past.
	zero  time.Time
	rules bool
	// sparse is how often what is long past is scraped.
	sparse time.Duration
	firing map[string]promembed.Alert
}

// askedAt is when every bot is asked: a working day, in the morning.
var askedAt = time.Date(2026, time.November, 18, 10, 30, 0, 0, time.UTC)

// newStage builds everything for an incident.
func newStage(inc *Incident) (*stage, error) {
	s := &stage{sparse: sparse, zero: askedAt.Add(-time.Duration(inc.Ask)), firing: map[string]promembed.Alert{}}
	var err error
	if s.cluster, err = newCluster(inc, s.zero.Add(-time.Duration(inc.Past)-warmUp)); err != nil {
		return nil, err
	}
	if s.prom, err = promembed.New(promembed.Options{EvaluationInterval: evaluation}); err != nil {
		return nil, err
	}
	if text := inc.rules(); text != "" {
		s.rules = true
		if err := s.prom.LoadRules("vllm-alerts.yaml", []byte(text)); err != nil {
			return nil, err
		}
	}
	s.scraper = fleet.NewScraper(s.fleet, inc.Gateway)
	s.speller = &speller{
		incident: inc, name: s.pods.Name, done: map[uint64][]labels.Labels{},
		version: func(inFleet string) version { return s.versions[s.pods.Name(inFleet)] },
	}
	return s, nil
}

// rules are the shipped ones for what the incident exports; none is shipped for Ray and NIM.
func (inc *Incident) rules() string {
	v, err := readVersion(inc.Version)
	if err != nil || inc.NoRules {
		return ""
	}
	d, _ := v.dialect() // checked when the file was read
	switch {
	case inc.Dialect == underscore:
		return rules.Underscore
	case (inc.Dialect == native || inc.Dialect == kserve) && d == fleet.V0:
		return rules.V0
	case inc.Dialect == native || inc.Dialect == kserve:
		return rules.Current
	}
	return ""
}

// play lets everything happen until the bot is asked.
func (s *stage) play(ctx context.Context) error {
	s.fleet.Advance(warmUp)
	events := s.incident.Timeline
	for now := s.fleet.Now(); now.Before(askedAt); now = s.fleet.Now() {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := s.nextScrape(now)
		if len(events) > 0 && s.zero.Add(time.Duration(events[0].At)).Before(next) {
			e := events[0]
			events = events[1:]
			s.fleet.Advance(s.zero.Add(time.Duration(e.At)).Sub(now))
			if err := s.happen(e); err != nil {
				return fmt.Errorf("%s, at %s: %w", s.incident.Name, e.At, err)
			}
			continue
		}
		s.fleet.Advance(next.Sub(now))
		if err := s.watch(ctx, next); err != nil {
			return fmt.Errorf("%s, at %s: %w", s.incident.Name, next.Sub(s.zero), err)
		}
	}
	return nil
}

// nextScrape is the next time on the grid of scrapes, which the question is on, too.
func (s *stage) nextScrape(now time.Time) time.Time {
	every := s.sparse
	if !now.Before(s.zero.Add(-nearPast)) {
		every = dense
	}
	left := askedAt.Sub(now)
	if into := left % every; into > 0 {
		return now.Add(into)
	}
	return now.Add(every)
}

// watch is what a Prometheus does at a time.
func (s *stage) watch(ctx context.Context, now time.Time) error {
	if err := s.step(); err != nil {
		return err
	}
	err := s.scraper.Scrape(func(ls labels.Labels, t int64, v float64) error {
		for _, one := range s.speller.spell(ls) {
			if err := s.prom.Append(one, []promembed.Sample{{T: time.UnixMilli(t), V: v}}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !s.rules || now.Before(s.zero.Add(-ruled)) || askedAt.Sub(now)%evaluation != 0 {
		return err
	}
	found, err := s.prom.EvaluateRules(ctx, now)
	for _, a := range found {
		key := fmt.Sprint(a.Labels)
		if a.EndsAt.After(now) {
			s.firing[key] = a
		} else {
			delete(s.firing, key)
		}
	}
	return err
}
