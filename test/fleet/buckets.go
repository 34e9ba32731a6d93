package fleet

// buckets are the bounds of one version's histograms, in seconds and tokens.
type buckets struct {
	ttft, itl, latency, tokens []float64
}

// bucketsOf returns the bounds of a dialect. vLLM 0.8.4 (86fc2321ff) made the latency histograms longer.
func bucketsOf(d Dialect) buckets {
	b := buckets{
		ttft: []float64{
			.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
		},
		itl: []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80},
		latency: []float64{
			.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
		},
		tokens: oneTwoFive(maxModelLen),
	}
	if d == V0 {
		b.ttft = b.ttft[:16]       // to 10 s
		b.itl = b.itl[:13]         // to 2.5 s
		b.latency = b.latency[:15] // to 60 s
	}
	return b
}

// maxModelLen is the model's context length in tokens; it bounds the histograms of token counts.
const maxModelLen = 131072

// oneTwoFive is vLLM's build_1_2_5_buckets: 1, 2, 5, 10, ... up to the highest that is not above limit.
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
