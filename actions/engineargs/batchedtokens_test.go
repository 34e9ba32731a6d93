package engineargs

import (
	"errors"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// words is a command line of arguments that the entry point of an image gets.
func words(s string) *vllm.CommandLine {
	return vllm.Parse(vllm.Container{Args: append([]string{"m"}, strings.Fields(s)...)})
}

// refusal is the reason of a refusal; a test fails on any other error.
func refusal(t *testing.T, err error) string {
	t.Helper()
	no, refused := errors.AsType[*incident.RefusedError](err)
	switch {
	case refused:
		return no.Reason
	case err != nil:
		t.Fatalf("want a refusal, got %T: %v", err, err)
	}
	return ""
}

func TestLeastTokensKnowsWhatVLLMNeedsOrRefuses(t *testing.T) {
	t.Parallel()
	const now = 8192
	for _, tt := range []struct {
		name  string
		words string
		runs  bool
		least int64
		want  string // of the reason or the refusal
	}{
		{"everything is set", "--max-num-seqs=256 --enable-chunked-prefill", true, 256, "--max-num-seqs"},
		{"seqs are not set", "--enable-chunked-prefill", true, 1024, "may be up to 1024"},
		{
			"the last of repeated seqs counts", "--max-num-seqs=256 --max_num_seqs 512 --enable-chunked-prefill", true,
			512, "",
		},
		{
			"scheduled tokens", "--max-num-seqs=256 --max-num-scheduled-tokens=2k --enable-chunked-prefill", true, 2000,
			"--max-num-scheduled-tokens",
		},
		{
			"chunks off", "--max-num-seqs=256 --no-enable-chunked-prefill --max-model-len=4K", true, 4096,
			"chunked prefill is off",
		},
		{
			"chunks off, short contexts", "--max-num-seqs=2048 --no-enable-chunked-prefill --max-model-len=1024", true,
			2048, "--max-num-seqs",
		},
		{
			"chunks off, length not set", "--max-num-seqs=256 --no-enable-chunked-prefill", true, 0,
			"chunked prefill is off and --max-model-len is not set",
		},
		{"chunks off, length is automatic", "--no-enable-chunked-prefill --max-model-len auto", true, 0, "is not set"},
		{"chunks off, length is -1", "--no-enable-chunked-prefill --max-model-len -1", true, 0, "is not set"},
		{
			"chunks not set, proved by what runs", "--max-num-seqs=256 --max-model-len=32768", true, 256,
			"--max-num-seqs",
		},
		{
			"chunks not set, nothing runs that proves it", "--max-num-seqs=256 --max-model-len=32768", false, 32768,
			"may be off",
		},
		{"chunks not set, length below the value", "--max-num-seqs=256 --max-model-len=4096", true, 4096, "may be off"},
		{
			"chunks not set, length equal to the value", "--max-num-seqs=256 --max-model-len=8192", true, 8192,
			"may be off",
		},
		{"chunks not set, length not set", "--max-num-seqs=256", true, 0, "depends on model and version"},
		{
			"seqs cannot be read", "--max-num-seqs=many --enable-chunked-prefill", true, 0,
			"cannot be read with certainty",
		},
		{"seqs from a variable", "--max-num-seqs=$(N) --enable-chunked-prefill", true, 0, "comes from a variable"},
		{"seqs abbreviated", "--max-num-s=4 --enable-chunked-prefill", true, 0, "abbreviation"},
		{"length abbreviated", "--max-num-seqs=4 --max-model=4", true, 0, "abbreviation"},
		{
			"speculative decoding", "--max-num-seqs=256 --enable-chunked-prefill --speculative-config={}", true, 0,
			"with --speculative-config",
		},
		{
			"speculative decoding, in parts", "--enable-chunked-prefill --speculative_config.model x", true, 0,
			"with --speculative_config.model",
		},
		{"speculative decoding, short", "--enable-chunked-prefill -sc {}", true, 0, "with -sc"},
		{
			"old speculative decoding", "--enable-chunked-prefill --num-speculative-tokens=3", true, 0,
			"with --num-speculative-tokens",
		},
		{
			"whole images", "--enable-chunked-prefill --disable-chunked-mm-input", true, 0,
			"with --disable-chunked-mm-input",
		},
		{
			"a performance mode", "--enable-chunked-prefill --performance-mode=throughput", true, 0,
			"with --performance-mode",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := leastTokens(lowering{line: words(tt.words), now: now, runs: tt.runs})
			why := refusal(t, err)
			if (why != "") != (tt.least == 0) || got.value != tt.least || !strings.Contains(got.why+why, tt.want) {
				t.Errorf("%+v, %q; want %d, %q", got, why, tt.least, tt.want)
			}
		})
	}
}

func TestADefaultThatTheOtherArgumentsProveWrongIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, words string
		want        string // of the refusal; empty: none
	}{
		{"nothing speaks against it", "--max-num-seqs=256 --max-model-len=32768", ""},
		{"chunks on", "--enable-chunked-prefill --max-model-len=32768", ""},
		{"as many sequences", "--max-num-seqs=8192", ""},
		{"more sequences", "--max-num-seqs=8193", "its --max-num-seqs of 8193"},
		{"sequences that cannot be read", "--max-num-seqs=many", "cannot be read with certainty"},
		{
			"chunks off, a longer context", "--no-enable-chunked-prefill --max-model-len=32K",
			"its --max-model-len of 32768",
		},
		{"chunks off, a short context", "--no-enable-chunked-prefill --max-model-len=8K", ""},
		{"chunks off, the model's own context", "--no-enable-chunked-prefill", ""},
		{"chunks that cannot be read", "--enable-chunked-prefill=maybe", "cannot be read"},
		{
			"chunks off, a context that cannot be read", "--no-enable-chunked-prefill --max-model-len=long",
			"cannot be read with certainty",
		},
	} {
		why := refusal(t, possibleDefault(words(tt.words), 8192, nil))
		if !strings.Contains(why, tt.want) || (why == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.name, why, tt.want)
		}
	}
}

// What vLLM logs at its start may be written into the configuration, so that nobody has to restart a pool to be
// allowed to restart it later.
func TestChunkedPrefillMayBeSaidByTheConfiguration(t *testing.T) {
	t.Parallel()
	const now = 8192
	on, off := true, false
	for _, tt := range []struct {
		name, words string
		says        *bool
		least       int64
		want        string // of the reason or the refusal
	}{
		{
			"on", "--max-num-seqs=256", &on, 256,
			"chunked prefill is on, as knobs.max_num_batched_tokens.chunked_prefill says",
		},
		{"on, a longer context", "--max-num-seqs=256 --max-model-len=32768", &on, 256, "as knobs"},
		{"on, and the flag too", "--max-num-seqs=256 --enable-chunked-prefill", &on, 256, "set by --max-num-seqs"},
		{
			"on, and the flag says off", "--max-num-seqs=256 --no-enable-chunked-prefill --max-model-len=4096", &on, 0,
			"says true, and the arguments say false",
		},
		{
			"off, and the flag says on", "--max-num-seqs=256 --enable-chunked-prefill", &off, 0,
			"says false, and the arguments say true",
		},
		{"off", "--max-num-seqs=256 --max-model-len=4096", &off, 4096, "because chunked prefill is off"},
		{
			"off, the model's own context", "--max-num-seqs=256", &off, 0,
			"chunked prefill is off and --max-model-len is not set",
		},
		{"on, draft tokens", "--max-num-seqs=256 --speculative-config={}", &on, 0, "with --speculative-config"},
		{"on, an unreadable flag", "--enable-chunked-prefill=maybe", &on, 0, "cannot be read"},
		{
			"nothing is said", "--max-num-seqs=256", nil, 0,
			"set knobs.max_num_batched_tokens.chunked_prefill, or --enable-chunked-prefill",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := leastTokens(lowering{line: words(tt.words), now: now, chunked: tt.says})
			why := refusal(t, err)
			if (why != "") != (tt.least == 0) || got.value != tt.least || !strings.Contains(got.why+why, tt.want) {
				t.Errorf("%+v, %q; want %d, %q", got, why, tt.least, tt.want)
			}
		})
	}
	for says, want := range map[*bool]string{&on: "", &off: "takes at least its --max-model-len of 32768"} {
		why := refusal(t, possibleDefault(words("--max-model-len=32768"), now, says))
		if !strings.Contains(why, want) || (why == "") != (want == "") {
			t.Errorf("a default, chunks %v: %q, want %q", *says, why, want)
		}
	}
}
