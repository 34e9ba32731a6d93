package promtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
)

// Backfill collects series of the past and writes them, by Prometheus' remote write protocol, into whatever takes it: a
// Prometheus with ReceiverArgs, or a store. The zero Backfill is empty.
type Backfill struct {
	series  []prompb.TimeSeries
	samples int
}

// ReceiverArgs let a Prometheus take a Backfill, however old it is.
func ReceiverArgs() []string {
	return []string{"--web.enable-remote-write-receiver", "--storage.tsdb.retention.time=100y"}
}

// Append adds a series, its samples in the order of time.
func (b *Backfill) Append(ls labels.Labels, samples []promembed.Sample) error {
	s := prompb.TimeSeries{Labels: prompb.FromLabels(ls, nil), Samples: make([]prompb.Sample, len(samples))}
	for i, x := range samples {
		s.Samples[i] = prompb.Sample{Timestamp: x.T.UnixMilli(), Value: x.V}
	}
	b.series = append(b.series, s)
	b.samples += len(samples)
	return nil
}

const (
	// slice is what all series are written of before the next: a Prometheus takes nothing that is an hour older than what
	// it has.
	slice = 10 * time.Minute
	// inRequest is how many samples are written at once.
	inRequest = 20_000
)

// Send writes everything that was collected to the address of a write endpoint, such as URL + "/api/v1/write".
func (b *Backfill) Send(ctx context.Context, address string) error {
	next := make([]int, len(b.series))
	for written := 0; written < b.samples; {
		end := int64(math.MaxInt64)
		for i, s := range b.series {
			if next[i] < len(s.Samples) {
				end = min(end, s.Samples[next[i]].Timestamp+slice.Milliseconds())
			}
		}
		n, err := b.sendUntil(ctx, address, next, end)
		if err != nil {
			return err
		}
		written += n
	}
	return nil
}

// sendUntil writes the samples of each series up to a time, from next on, which it moves.
func (b *Backfill) sendUntil(ctx context.Context, address string, next []int, end int64) (written int, err error) {
	var req prompb.WriteRequest
	held := 0
	flush := func() error {
		if held == 0 {
			return nil
		}
		err := write(ctx, address, req)
		written += held
		req.Timeseries, held = req.Timeseries[:0], 0
		return err
	}
	for i, s := range b.series {
		from := next[i]
		for next[i] < len(s.Samples) && s.Samples[next[i]].Timestamp < end {
			next[i]++
		}
		if next[i] == from {
			continue
		}
		req.Timeseries = append(req.Timeseries, prompb.TimeSeries{Labels: s.Labels, Samples: s.Samples[from:next[i]]})
		if held += next[i] - from; held >= inRequest {
			if err := flush(); err != nil {
				return written, err
			}
		}
	}
	return written, flush()
}

func write(ctx context.Context, address string, req prompb.WriteRequest) (err error) {
	raw, err := req.Marshal()
	if err != nil {
		return fmt.Errorf("remote write: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(asSnappy(raw)))
	if err != nil {
		return fmt.Errorf("remote write: %w", err)
	}
	r.Header.Set("Content-Encoding", "snappy")
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("remote write: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("remote write: %s: %s", resp.Status, bytes.TrimSpace(text))
	}
	return nil
}

// asSnappy is Snappy's block format without anything compressed, so that no library is needed for it: the length, and
// literals of at most 64 KiB.
func asSnappy(raw []byte) []byte {
	const most = 1 << 16
	out := binary.AppendUvarint(make([]byte, 0, len(raw)+len(raw)/most*3+16), uint64(len(raw)))
	for len(raw) > 0 {
		n := min(len(raw), most)
		out = append(out, 61<<2, byte(n-1), byte((n-1)>>8)) // a literal whose length less one is in the next two bytes
		out, raw = append(out, raw[:n]...), raw[n:]
	}
	return out
}
