package diagnosis

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// quantity is a number that may move in a straight line over a phase ("2 -> 6") or swing around its middle ("0.9..1.0
// every 90s").
type quantity struct {
	from, to float64
	low      float64 // of a swing
	high     float64
	every    float64 // seconds; 0: no swing
}

// FromYAML reads the notation above. A number may have a unit of time (250ms, 3s, 2m) or be a percentage (40%).
func (q *quantity) FromYAML(v strictyaml.Value) error {
	text, ok := v.Text()
	if !ok {
		return fmt.Errorf("a number such as 3, 250ms, 40%% or \"2 -> 6\" is needed")
	}
	got, err := parseQuantity(text)
	if err != nil {
		return err
	}
	*q = got
	return nil
}

func parseQuantity(s string) (quantity, error) {
	if span, every, ok := strings.Cut(s, " every "); ok {
		low, high, ok := strings.Cut(span, "..")
		if !ok {
			return quantity{}, fmt.Errorf("%q is not a swing; write it as \"0.9..1.0 every 90s\"", s)
		}
		var q quantity
		for _, x := range []struct {
			to   *float64
			text string
		}{{&q.low, low}, {&q.high, high}, {&q.every, every}} {
			v, err := parseNumber(x.text)
			if err != nil {
				return quantity{}, err
			}
			*x.to = v
		}
		if q.every <= 0 || q.high < q.low {
			return quantity{}, fmt.Errorf("%q does not swing", s)
		}
		q.from, q.to = (q.low+q.high)/2, (q.low+q.high)/2
		return q, nil
	}
	a, b, moves := strings.Cut(s, "->")
	from, err := parseNumber(a)
	if err != nil {
		return quantity{}, err
	}
	to := from
	if moves {
		if to, err = parseNumber(b); err != nil {
			return quantity{}, err
		}
	}
	return quantity{from: from, to: to}, nil
}

func parseNumber(s string) (float64, error) {
	s = strings.TrimSpace(s)
	if p, ok := strings.CutSuffix(s, "%"); ok {
		v, err := strconv.ParseFloat(p, 64)
		return v / 100, bad(s, err)
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return v, nil
	}
	d, err := strictyaml.ParseDuration(s)
	return d.Seconds(), bad(s, err)
}

func bad(s string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%q is not a number, a percentage or a time such as 250ms", s)
}

// at is the value when part of the phase (0 to 1) has passed; t is the time in seconds for a swing.
func (q quantity) at(part, t float64) float64 {
	if q.every > 0 {
		return q.low + (q.high-q.low)*(0.5-0.5*math.Cos(2*math.Pi*t/q.every))
	}
	return q.from + (q.to-q.from)*part
}

// settled is the quantity after its phase: where it came to.
func (q quantity) settled() quantity {
	if q.every > 0 {
		return q
	}
	return quantity{from: q.to, to: q.to}
}

// least and most bound the quantity over its phase.
func (q quantity) least() float64 {
	if q.every > 0 {
		return q.low
	}
	return min(q.from, q.to)
}

func (q quantity) most() float64 {
	if q.every > 0 {
		return q.high
	}
	return max(q.from, q.to)
}
