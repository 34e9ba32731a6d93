package promembed

import (
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// perChunk is how many samples Prometheus puts into one chunk.
const perChunk = 120

// sealed is a run of points, encoded. It does not change any more.
type sealed struct {
	mint, maxt int64
	chunk      chunkenc.Chunk
}

// seal encodes the points when there are enough for a chunk. The slice of points is replaced and not reused: readers
// may hold the old one.
func (s *stream) seal() error {
	for len(s.points) > perChunk {
		chunk := chunkenc.NewXORChunk()
		app, err := chunk.Appender()
		if err != nil {
			return fmt.Errorf("%s: begin a chunk: %w", s.labels, err)
		}
		full := s.points[:perChunk]
		for _, p := range full {
			app.Append(0, p.t, p.v)
		}
		chunk.Compact()
		s.sealed = append(s.sealed, sealed{mint: full[0].t, maxt: full[perChunk-1].t, chunk: chunk})
		s.points = slices.Clone(s.points[perChunk:])
	}
	return nil
}

// between are the points from mint to maxt, both included.
func (s *stream) between(mint, maxt int64) points {
	open := s.points.between(mint, maxt)
	var older points
	for _, c := range s.sealed {
		if c.maxt < mint || c.mint > maxt {
			continue
		}
		for it := c.chunk.Iterator(nil); it.Next() == chunkenc.ValFloat; {
			if t, v := it.At(); t >= mint && t <= maxt {
				older = append(older, point{t: t, v: v})
			}
		}
	}
	if len(older) == 0 {
		return open
	}
	return append(older, open...)
}

// sweep forgets what is older than the retention. It looks through all series only now and then.
func (m *memory) sweep() {
	if m.retention == 0 || m.newest-m.swept < m.retention/sweepsPerRetention {
		return
	}
	m.swept = m.newest
	oldest := m.newest - m.retention
	for key, s := range m.byKey {
		s.sealed = slices.DeleteFunc(slices.Clone(s.sealed), func(c sealed) bool { return c.maxt < oldest })
		if t, ok := s.newest(); ok && t >= oldest {
			continue
		}
		delete(m.byKey, key)
		m.forget(s)
	}
}

// sweepsPerRetention is how often within a retention old samples are looked for.
const sweepsPerRetention = 10

// forget takes a series out of the list of its metric, which readers may hold.
func (m *memory) forget(gone *stream) {
	name := gone.labels.Get(model.MetricNameLabel)
	left := slices.DeleteFunc(slices.Clone(m.byName[name]), func(s *stream) bool { return s == gone })
	if len(left) == 0 {
		delete(m.byName, name)
		return
	}
	m.byName[name] = left
}
