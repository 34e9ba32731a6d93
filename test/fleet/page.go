package fleet

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// page is what a target exports, in whatever form: text over HTTP, or samples in simulated time.
type page interface {
	gauge(m metric, value float64)
	counter(m metric, value float64)
	histogram(m metric, h *histogram)
}

// metric is one child of a family as a page names it.
type metric struct {
	name, help string
	labels     map[string]string // must not be changed
	// child tells the children of a family apart.
	child string
	// born is when its server began to count.
	born time.Time
}

// createdName is what the series with the time of birth is called.
func (m metric) createdName() string {
	return strings.TrimSuffix(m.name, vllm.SuffixTotal) + vllm.SuffixCreated
}

// created says whether there are _created series: V0 switched them off, OpenTelemetry collectors drop them.
func (d Dialect) created() bool {
	s := d.spelling()
	return s.Prefix == vllm.CanonicalPrefix && s.Generation != vllm.V0
}

// walk shows a page everything that a replica exports.
func (f *Fleet) walk(rep *replica, p page) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.engines(rep, p)
	if rep.dialect != V0 { // since 0.8.3
		p.counter(metric{
			name: "http_requests_total", help: "Total number of requests by method, status and handler.",
			labels: map[string]string{"handler": "/v1/chat/completions", "method": "POST", "status": "2xx"},
			born:   f.opts.Epoch.Add(rep.born),
		}, float64(rep.answered))
	}
}

func (f *Fleet) engines(rep *replica, p page) {
	s, born := rep.dialect.spelling(), f.opts.Epoch.Add(rep.born)
	for rank, e := range rep.ranks {
		base := map[string]string{vllm.LabelModel: f.opts.Model}
		id := strconv.Itoa(rank)
		if s.Generation != vllm.V0 {
			base[vllm.LabelEngine] = id
		}
		for _, fam := range f.families[rep.dialect] {
			m := metric{name: fam.name, help: fam.help, labels: base, child: id, born: born}
			switch {
			case fam.only != nil && !fam.only(e):
			case fam.kind == histo:
				p.histogram(m, fam.shape(e))
			case fam.values != nil:
				for _, child := range fam.values(e) {
					m.labels, m.child = with(base, fam.label, child.label), id+child.label
					fam.write(p, m, child.value)
				}
			default:
				fam.write(p, m, fam.value(e))
			}
		}
		info := cacheConfig(s.Generation, e)
		if s.Generation != vllm.V0 {
			info[vllm.LabelEngine] = id
		}
		p.gauge(metric{
			name: s.Prefix + "cache_config_info", help: "Information of the LLMEngine CacheConfig", labels: info,
			child: id + info["num_gpu_blocks"], born: born,
		}, 1)
	}
}

func (f family) write(p page, m metric, value float64) {
	if f.kind == counter {
		p.counter(m, value)
		return
	}
	p.gauge(m, value)
}

// spelled are the families that servers of a dialect have, by their names there.
func spelled(s vllm.Spelling) []family {
	var out []family
	for _, fam := range families() {
		name, has := s.Spell(vllm.CanonicalPrefix + fam.name)
		if !has || fam.in != nil && !slices.Contains(fam.in, s.Generation) {
			continue
		}
		fam.name = name
		out = append(out, fam)
	}
	return out
}

func with(labels map[string]string, name, value string) map[string]string {
	out := maps.Clone(labels)
	out[name] = value
	return out
}
