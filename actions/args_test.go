package actions

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumbersAreReadAsVLLMReadsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "8192": 8192, "008": 8, "8k": 8000, "8K": 8192, "25.6k": 25600, "1.5m": 1_500_000, "2M": 2 << 20, "1g": 1e9, "1G": 1 << 30, "1t": 1e12,
		"1T": 1 << 40, "0.5k": 500, "1.0001k": 1000, "9007199254740992": biggest,
		// not certain, or not a number of tokens
		"": 0, "0": 0, "0k": 0, "0.0001k": 0, "-1": 0, "+8": 0, " 8": 0, "8 ": 0, "8_192": 0, "8.5K": 0, "8.5": 0, "8.k": 0, ".5k": 0, "1..5k": 0, "k": 0, "8kk": 0,
		"8b": 0, "auto": 0, "1e3": 0, "0x10": 0, "٣": 0, "9007199254740993": 0, "99999999999999999999": 0, "9999999999t": 0, "9000.5t": 9000500000000000, "9999.9t": 0,
	} {
		n, ok := readNumber(text)
		if n != want && ok || ok != (want > 0) {
			t.Errorf("%q: %d, %v, want %d", text, n, ok, want)
		}
	}
}

func FuzzNumbersNeverExceedWhatIsExact(f *testing.F) {
	for _, s := range []string{"8192", "8k", "8K", "25.6k", "8.5K", "auto", "1T"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := readNumber(s); ok && (n < 1 || n > biggest) {
			t.Errorf("%q is read as %d", s, n)
		}
	})
}

// serve is a command line that can be read.
func serve(args ...string) commandLine {
	return commandLine{command: []string{"vllm", "serve", "meta/llama"}, args: args}
}

func TestTheFlagIsFoundInEveryFormAndTheLastOneCounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		line  commandLine
		value string
		list  string
		after []string
	}{
		{"joined", serve("--max-num-batched-tokens=8192", "--port=1"), "8192", "args", []string{"--max-num-batched-tokens=99", "--port=1"}},
		{"separate", serve("--max-num-batched-tokens", "8192", "-tp", "2"), "8192", "args", []string{"--max-num-batched-tokens", "99", "-tp", "2"}},
		{"underscores joined", serve("--max_num_batched_tokens=8k"), "8k", "args", []string{"--max_num_batched_tokens=99"}},
		{"underscores separate", serve("--max_num_batched_tokens", "8K"), "8K", "args", []string{"--max_num_batched_tokens", "99"}},
		{"mixed spelling", serve("--max-num_batched-tokens=1"), "1", "args", []string{"--max-num_batched-tokens=99"}},
		{"repeated, the last counts", serve("--max-num-batched-tokens=1", "--x", "--max_num_batched_tokens", "2"), "2", "args", []string{"--max-num-batched-tokens=1", "--x", "--max_num_batched_tokens", "99"}},
		{"in the command", commandLine{command: []string{"vllm", "serve", "m", "--max-num-batched-tokens", "5"}, args: []string{"--port", "1"}}, "5", "command", []string{"vllm", "serve", "m", "--max-num-batched-tokens", "99"}},
		{"args after the command count", commandLine{command: []string{"vllm", "serve", "m", "--max-num-batched-tokens=5"}, args: []string{"--max-num-batched-tokens=6"}}, "6", "args", []string{"--max-num-batched-tokens=99"}},
		{"the name in the command, the value in the args", commandLine{command: []string{"vllm", "serve", "--max-num-batched-tokens"}, args: []string{"7", "--x"}}, "7", "args", []string{"99", "--x"}},
		{"without a command", commandLine{args: []string{"--model", "m", "--max-num-batched-tokens=4"}}, "4", "args", []string{"--model", "m", "--max-num-batched-tokens=99"}},
		{"blanks and quotes of others stay", serve("--max-num-batched-tokens=3", `--compilation-config={"level": 3}`, "", "a b"), "3", "args", []string{"--max-num-batched-tokens=99", `--compilation-config={"level": 3}`, "", "a b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if why := tt.line.unreadable(nil); why != nil {
				t.Fatal(why)
			}
			f, found, err := lastFlag(tt.line.words(), tokensFlag)
			if err != nil || !found || f.text != tt.value {
				t.Fatalf("%+v, %v, %v", f, found, err)
			}
			before := slices.Concat(tt.line.command, tt.line.args)
			list, _, after := tt.line.withValue(f, "99")
			if list != tt.list {
				t.Errorf("it is in %s, want %s", list, tt.list)
			}
			if diff := cmp.Diff(tt.after, after); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, tt.line.words()); diff != "" {
				t.Errorf("the command line itself was changed: %s", diff)
			}
		})
	}
}

func TestCommandLinesThatAreNotCertainAreRefused(t *testing.T) {
	t.Parallel()
	flag := "--max-num-batched-tokens=8192"
	for _, tt := range []struct {
		name string
		line commandLine
		env  []variable
		want string
	}{
		{"nothing at all", commandLine{}, nil, "inside of the image"},
		{"sh -c", commandLine{command: []string{"/bin/sh", "-c"}, args: []string{"vllm serve m " + flag}}, nil, "runs a shell (sh)"},
		{"bash -lc in one list", commandLine{command: []string{"bash", "-lc", "vllm serve m " + flag}}, nil, "runs a shell (bash)"},
		{"a shell behind a wrapper", commandLine{command: []string{"tini", "bash", "-c", "vllm serve " + flag}}, nil, "runs a shell (bash)"},
		{"a shell in args", commandLine{args: []string{"sh", "-c", "vllm serve " + flag}}, nil, "runs a shell"},
		{"env", commandLine{command: []string{"env", "X=1", "vllm", "serve", flag}}, nil, "runs a shell (env)"},
		{"a script", commandLine{command: []string{"/start.sh"}, args: []string{flag}}, nil, "runs the script start.sh"},
		{"a script in args", commandLine{args: []string{"/start.sh", flag}}, nil, "runs the script start.sh"},
		{"an unknown program", commandLine{command: []string{"launcher"}, args: []string{flag}}, nil, "runs launcher: which arguments it hands to vLLM is not known"},
		{"python with another script", commandLine{command: []string{"python3", "/app/run.py", flag}}, nil, "runs python3"},
		{"python with another module", commandLine{command: []string{"python3", "-m", "myvllm", flag}}, nil, "runs python3 -m myvllm: which"},
		{"python with another module in args", commandLine{args: []string{"python3", "-m", "sglang.launch_server", flag}}, nil, "runs python3 -m sglang.launch_server: which"},
		{"python without anything", commandLine{command: []string{"python3"}}, nil, "runs python3"},
		{"a double dash", commandLine{command: []string{"vllm", "serve", "--", flag}}, nil, "there is a --"},
		{"a config file", serve(flag, "--config", "/etc/x.yaml"), nil, "--config file"},
		{"a config file joined", serve(flag, "--config=/etc/x.yaml"), nil, "--config file"},
		{"the flag within a text", serve("--additional-config={\"max_num_batched_tokens\":1}"), nil, "an argument that is not the flag itself"},
		{"the flag and its value in one word", serve("--max-num-batched-tokens 8192"), nil, "an argument that is not the flag itself"},
		{"the flag of a dotted name", serve("--x.max-num-batched-tokens=1", flag), nil, "an argument that is not the flag itself"},
		{"a wrapper's variable", serve(flag), []variable{{name: "VLLM_ADDITIONAL_ARGS", value: "--x", known: true}}, "the variable VLLM_ADDITIONAL_ARGS may hold"},
		{"a wrapper's variable from elsewhere", serve(flag), []variable{{name: "VLLM_ADDITIONAL_ARGS"}}, "the variable VLLM_ADDITIONAL_ARGS may hold"},
		{"a variable with the flag in it", serve(flag), []variable{{name: "FOO", value: "--max_num_batched_tokens=1", known: true}}, "the variable FOO mentions"},
		{"a word that is a variable", serve(flag, "$(MORE)"), nil, "puts a variable into the argument $(MORE)"},
		{"a word that is a variable with a flag", serve(flag, "$(MORE)"), []variable{{name: "MORE", value: "--seed=1", known: true}}, "puts a variable"},
		{"a word that is a variable, overridden later", serve(flag, "$(MORE)"), []variable{{name: "MORE", value: "x", known: true}, {name: "MORE", value: "--y", known: true}}, "puts a variable"},
		{"a flag whose name is a variable", serve(flag, "--$(NAME)=s3cret"), nil, "puts a variable into the argument --$(NAME),"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			no := tt.line.unreadable(tt.env)
			if no == nil || !strings.Contains(no.Reason, tt.want) {
				t.Errorf("refusal %v, want it to contain %q", no, tt.want)
			}
			if no != nil && strings.Contains(no.Reason, "s3cret") {
				t.Errorf("a value is shown: %s", no.Reason)
			}
		})
	}
}

func TestUsualCommandLinesAreRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line commandLine
		env  []variable
	}{
		"the image's entry point":      {commandLine{args: []string{"--model", "m"}}, nil},
		"a model first":                {commandLine{args: []string{"meta/llama", "--port=1"}}, nil},
		"vllm in args":                 {commandLine{args: []string{"vllm", "serve", "m"}}, nil},
		"vllm by its path":             {commandLine{command: []string{"/usr/local/bin/vllm", "serve", "m"}}, nil},
		"python -m":                    {commandLine{command: []string{"python3", "-m", "vllm.entrypoints.openai.api_server"}}, nil},
		"python -u -m":                 {commandLine{command: []string{"/usr/bin/python3.12", "-u", "-m", "vllm.entrypoints.openai.api_server"}}, nil},
		"python with vllm's script":    {commandLine{command: []string{"python", "/usr/bin/vllm", "serve"}}, nil},
		"a secret value":               {serve("--api-key", "$(KEY)", "--served-model-name=$(NAME)"), nil},
		"python in args":               {commandLine{args: []string{"python3", "-m", "vllm.entrypoints.openai.api_server"}}, nil},
		"the rank from the pod":        {serve("--data-parallel-size", "2", "--data-parallel-rank", "$(POD_INDEX)"), []variable{{name: "POD_INDEX"}}},
		"the model from a variable":    {commandLine{command: []string{"vllm", "serve", "$(MODEL)"}}, nil},
		"a variable that is no flag":   {serve("$(PLAIN)"), []variable{{name: "PLAIN", value: "x", known: true}}},
		"an escaped variable":          {serve("$$(NOT)", "--x=$$(NOT)"), nil},
		"an empty wrapper's variable":  {serve("--x"), []variable{{name: "VLLM_ADDITIONAL_ARGS", known: true}}},
		"other flags that begin alike": {serve("--config-format", "auto", "--max-num-seqs=1"), nil},
	} {
		if no := tt.line.unreadable(tt.env); no != nil {
			t.Errorf("%s: %s", name, no.Reason)
		}
	}
}

func TestFlagsWithoutACertainValueAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		words []string
		want  string
	}{
		"no value at the end":  {[]string{"--max-num-batched-tokens"}, "has no value"},
		"a flag as its value":  {[]string{"--max-num-batched-tokens", "--port"}, "has no value"},
		"a negative value":     {[]string{"--max-num-batched-tokens", "-1"}, "has no value"},
		"a variable":           {[]string{"--max-num-batched-tokens=$(TOKENS)"}, "comes from a variable ($(TOKENS))"},
		"a variable, separate": {[]string{"--max-num-batched-tokens", "$(TOKENS)"}, "comes from a variable"},
		"an abbreviation":      {[]string{"--max-num-batched", "8192"}, "is an abbreviation"},
		"a short abbreviation": {[]string{"--max_num_b=8192"}, "is an abbreviation"},
		"also before the flag": {[]string{"--max-num-b=1", "--max-num-batched-tokens=2"}, "is an abbreviation"},
	} {
		if _, _, err := lastFlag(tt.words, tokensFlag); !strings.Contains(refusal(t, err), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, found, err := lastFlag([]string{"--max-num-seqs=1", "-m", "x"}, tokensFlag); found || err != nil {
		t.Errorf("an absent flag: %v, %v", found, err)
	}
}

func TestSwitchesAreReadInEveryForm(t *testing.T) {
	t.Parallel()
	const name = "enable-chunked-prefill"
	for _, tt := range []struct {
		words     string
		on, known bool
		refused   string
	}{
		{"--enable-chunked-prefill", true, true, ""},
		{"--enable_chunked_prefill --x", true, true, ""},
		{"--enable-chunked-prefill=true", true, true, ""},
		{"--enable-chunked-prefill=False", false, true, ""},
		{"--enable-chunked-prefill False", false, true, ""},
		{"--enable-chunked-prefill true --x", true, true, ""},
		{"--no-enable-chunked-prefill", false, true, ""},
		{"--no_enable_chunked_prefill --enable-chunked-prefill", true, true, ""},
		{"--enable-chunked-prefill --no-enable-chunked-prefill", false, true, ""},
		{"--enable-prefix-caching", false, false, ""},
		{"--enable-chunked-prefill=maybe", false, false, "cannot be read"},
		{"--no-enable-chunked-prefill=true", false, false, "takes no value"},
		{"--enable-chunked", false, false, "abbreviation"},
		{"--no-enable-chunk", false, false, "abbreviation"},
	} {
		on, known, err := onOff(strings.Fields(tt.words), name)
		if why := refusal(t, err); on != tt.on || known != tt.known || !strings.Contains(why, tt.refused) || (why == "") != (tt.refused == "") {
			t.Errorf("%s: on %v, known %v, %q", tt.words, on, known, why)
		}
	}
}

func TestSecretsOfACommandLineAreKnown(t *testing.T) {
	t.Parallel()
	line := commandLine{
		command: []string{"vllm", "serve", "m"},
		args:    []string{"--api-key", "first-key", "second-key", "--hf-token=the-token", "--max-num-batched-tokens", "8192", "--ssl_keyfile=/k.pem"},
	}
	got := line.secretValues([]variable{{name: "HF_TOKEN", value: "env-token"}, {name: "HOME", value: "/root"}, {name: "AWS_SECRET_ACCESS_KEY", value: "aws-secret"}})
	if diff := cmp.Diff([]string{"first-key", "second-key", "the-token", "/k.pem", "env-token", "aws-secret"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAFlagIsAddedAtTheEndAndTakenAwayAgain(t *testing.T) {
	t.Parallel()
	const word = "--max-num-batched-tokens=4096"
	for _, tt := range []struct {
		name  string
		line  commandLine
		list  string
		after []string
	}{
		{"args", commandLine{args: []string{"--port=1", ""}}, "args", []string{"--port=1", "", word}},
		{"args behind a command", serve("--port", "1"), "args", []string{"--port", "1", word}},
		{"a command alone", serve(), "command", []string{"vllm", "serve", "meta/llama", word}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			was := commandLine{command: slices.Clone(tt.line.command), args: slices.Clone(tt.line.args)}
			_, before := tt.line.end()
			list, after := tt.line.withAdded(word)
			if list != tt.list || !slices.Equal(after, tt.after) {
				t.Fatalf("%s: %q, want %s: %q", list, after, tt.list, tt.after)
			}
			edited := relisted(tt.line, list, after)
			f, found, err := lastFlag(edited.words(), tokensFlag)
			if err != nil || !found || f.text != "4096" {
				t.Fatalf("%+v, %v, %v", f, found, err)
			}
			if again, back, err := edited.without(f); err != nil || again != list || !slices.Equal(back, before) {
				t.Errorf("the way back is %q of %s (%v), it was %q of %s", back, again, err, before, list)
			}
			if !slices.Equal(was.words(), tt.line.words()) {
				t.Errorf("the command line itself was changed: %q", tt.line.words())
			}
		})
	}
}

func relisted(c commandLine, list string, words []string) commandLine {
	if list == "command" {
		return commandLine{command: words, args: c.args}
	}
	return commandLine{command: c.command, args: words}
}

func TestAFlagInTwoWordsIsTakenAwayWithItsValue(t *testing.T) {
	t.Parallel()
	line := serve("--port=1", "--max-num-batched-tokens", "4096", "--x")
	f, _, err := lastFlag(line.words(), tokensFlag)
	if err != nil {
		t.Fatal(err)
	}
	if list, after, err := line.without(f); err != nil || list != "args" || !slices.Equal(after, []string{"--port=1", "--x"}) {
		t.Errorf("%s: %q, %v", list, after, err)
	}
	split := commandLine{command: []string{"vllm", "serve", "--max-num-batched-tokens"}, args: []string{"7", "--x"}}
	f, _, err = lastFlag(split.words(), tokensFlag)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = split.without(f)
	if why := refusal(t, err); !strings.Contains(why, "by hand") {
		t.Errorf("a flag in two lists: %q", why)
	}
}

// FuzzEditingTheFlagKeepsEverythingElse is the promise that people rely on: whatever else stands on a command line, it stays byte for byte, and what is
// read back is what was written.
func FuzzEditingTheFlagKeepsEverythingElse(f *testing.F) {
	f.Add("vllm\nserve\nm", "--max-num-batched-tokens=8192\n--port\n1", "4096")
	f.Add("", "--max_num_batched_tokens\n8k\n--api-key\nabc", "1")
	f.Add("python3\n-m\nvllm.entrypoints.openai.api_server\n--max-num-batched-tokens", "1\n\n\x00", "2")
	f.Add("vllm", "--max-num-batched-tokens=1\n--max-num-batched-tokens\n2", "3")
	f.Add("vllm\nserve\nm", "--port\n1", "4096")
	f.Add("vllm\nserve\nm", "", "4096")
	f.Fuzz(func(t *testing.T, command, args, value string) {
		if _, ok := readNumber(value); !ok {
			return // only numbers are ever written
		}
		line := commandLine{command: split(command), args: split(args)}
		if line.unreadable(nil) != nil {
			return
		}
		at, found, err := lastFlag(line.words(), tokensFlag)
		if err != nil {
			return
		}
		if !found {
			addAndTakeAway(t, line, value)
			return
		}
		name, before, after := line.withValue(at, value)
		changed := 0
		for i := range before {
			if before[i] != after[i] {
				changed++
			}
		}
		if len(before) != len(after) || changed > 1 {
			t.Fatalf("%q became %q", before, after)
		}
		edited := commandLine{command: line.command, args: after}
		if name == "command" {
			edited = commandLine{command: after, args: line.args}
		}
		if no := edited.unreadable(nil); no != nil {
			t.Fatalf("it cannot be read any more: %s", no.Reason)
		}
		again, found, err := lastFlag(edited.words(), tokensFlag)
		if err != nil || !found || again.text != value {
			t.Fatalf("%q is read back as %q (%v, %v)", value, again.text, found, err)
		}
		if _, _, back := edited.withValue(again, at.text); !slices.Equal(back, before) {
			t.Fatalf("the way back gives %q, it was %q", back, before)
		}
	})
}

// addAndTakeAway is the promise for a flag that is not given: it is read back, and the way back leaves what was there.
func addAndTakeAway(t *testing.T, line commandLine, value string) {
	t.Helper()
	_, before := line.end()
	name, after := line.withAdded("--" + tokensFlag + "=" + value)
	edited := relisted(line, name, after)
	if no := edited.unreadable(nil); no != nil {
		t.Fatalf("%q cannot be read any more: %s", edited.words(), no.Reason)
	}
	f, found, err := lastFlag(edited.words(), tokensFlag)
	if err != nil || !found || f.text != value {
		t.Fatalf("%q is read back as %q (%v, %v)", value, f.text, found, err)
	}
	if _, back, err := edited.without(f); err != nil || !slices.Equal(back, before) {
		t.Fatalf("the way back gives %q (%v), it was %q", back, err, before)
	}
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
