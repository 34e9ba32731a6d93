package diagnosis

// bounds are the buckets of one version (facts 1.3).
type bounds struct{ ttft, itl, latency, tokens []float64 }

// bounds of the latency histograms became longer with 0.8.4.
func (e edition) bounds() bounds {
	b := bounds{
		ttft: []float64{
			.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
			2560,
		},
		itl:     []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80},
		latency: []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680},
		tokens:  oneTwoFive(131072),
	}
	if !e.from(8, 4) {
		b.ttft, b.itl, b.latency = b.ttft[:16], b.itl[:13], b.latency[:15] // to 10 s, 2.5 s and 60 s
	}
	return b
}

func oneTwoFive(limit float64) []float64 {
	var out []float64
	for power := 1.0; ; power *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if m*power > limit {
				return out
			}
			out = append(out, m*power)
		}
	}
}

func iterationBounds() []float64 {
	return []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
}

func xferBounds() []float64 { return []float64{.005, .01, .025, .05, .075, .1, .2, .3, .5, .75, 1, 5} }

func byteBounds() []float64 {
	out := make([]float64, 0, 16)
	for v := float64(2 << 10); v <= 64<<30; v *= 4 {
		out = append(out, v)
	}
	return out
}
