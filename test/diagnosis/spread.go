package diagnosis

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// z95 is the 95th percentile of the standard normal distribution. widest cuts the tails: beyond it a draw of one
// request in two hundred would rule a percentile.
const (
	z95    = 1.6448536269514722
	widest = 2.6
)

// part is a log-normal distribution by its median and its 95th percentile, with its share in a mix.
type part struct{ share, p50, p95 float64 }

// mix is a distribution: "200ms/500ms" (median and 95th percentile), "3s" (all alike), or "90% 20ms/60ms + 10% 8s/20s".
type mix []part

// spread is a mix that may move over a phase: "200ms/500ms -> 4s/9s".
type spread struct{ from, to mix }

// FromYAML reads the notation of mix and spread.
func (s *spread) FromYAML(v strictyaml.Value) error {
	text, ok := v.Text()
	if !ok {
		return errors.New("a distribution such as 200ms/500ms is needed")
	}
	got, err := parseSpread(text)
	if err != nil {
		return err
	}
	*s = got
	return nil
}

func parseSpread(s string) (spread, error) {
	a, b, moves := strings.Cut(s, "->")
	from, err := parseMix(a)
	if err != nil {
		return spread{}, err
	}
	to := from
	if moves {
		if to, err = parseMix(b); err != nil {
			return spread{}, err
		}
		if len(from) != len(to) {
			return spread{}, fmt.Errorf("%q: both ends need as many parts", s)
		}
	}
	return spread{from: from, to: to}, nil
}

func parseMix(s string) (mix, error) {
	var out mix
	total := 0.0
	for text := range strings.SplitSeq(s, "+") {
		p := part{share: 1}
		text = strings.TrimSpace(text)
		if share, rest, ok := strings.Cut(text, "% "); ok {
			v, err := parseNumber(share + "%")
			if err != nil {
				return nil, err
			}
			p.share, text = v, rest
		}
		low, high, two := strings.Cut(text, "/")
		var err error
		if p.p50, err = parseNumber(low); err != nil {
			return nil, err
		}
		p.p95 = p.p50
		if two {
			if p.p95, err = parseNumber(high); err != nil {
				return nil, err
			}
		}
		if p.p50 <= 0 || p.p95 < p.p50 {
			return nil, fmt.Errorf("%q: the median must be above 0 and not above the 95th percentile", text)
		}
		total += p.share
		out = append(out, p)
	}
	if math.Abs(total-1) > 1e-9 {
		return nil, fmt.Errorf("%q: the shares are %g%% in all, not 100%%", s, total*100)
	}
	return out, nil
}

func (p part) sigma() float64 { return math.Log(p.p95/p.p50) / z95 }

func (p part) mean() float64 { return p.p50 * math.Exp(p.sigma()*p.sigma()/2) }

// below is the share of the part that is not above x.
func (p part) below(x float64) float64 {
	s := p.sigma()
	if s == 0 {
		if p.p50 <= x {
			return 1
		}
		return 0
	}
	return 0.5 * (1 + math.Erf(math.Log(x/p.p50)/s/math.Sqrt2))
}

// draw gives the value for two numbers in [0, 1): which part, and where in it.
func (m mix) draw(which, where float64) float64 {
	p := m[len(m)-1]
	for _, q := range m {
		if which < q.share {
			p = q
			break
		}
		which -= q.share
	}
	z := math.Sqrt2 * math.Erfinv(2*where-1)
	return p.p50 * math.Exp(p.sigma()*max(-widest, min(widest, z)))
}

func (m mix) mean() float64 {
	sum := 0.0
	for _, p := range m {
		sum += p.share * p.mean()
	}
	return sum
}

func (m mix) below(x float64) float64 {
	sum := 0.0
	for _, p := range m {
		sum += p.share * p.below(x)
	}
	return sum
}

// at is the distribution when part of the phase has passed.
func (s spread) at(passed float64) mix {
	if &s.from[0] == &s.to[0] {
		return s.from // it does not move; requests ask for it all the time
	}
	out := make(mix, len(s.from))
	for i, a := range s.from {
		b := s.to[i]
		out[i] = part{
			share: a.share + (b.share-a.share)*passed, p50: a.p50 + (b.p50-a.p50)*passed, p95: a.p95 + (b.p95-a.p95)*passed,
		}
	}
	return out
}

func (s spread) settled() spread { return spread{from: s.to, to: s.to} }
