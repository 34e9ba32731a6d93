package vllm

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheFlagIsFoundInEveryFormAndTheLastOneCounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		line  Container
		value string
		list  string
		after []string
	}{
		{
			"joined", serve("--max-num-batched-tokens=8192", "--port=1"), "8192", "args",
			[]string{"--max-num-batched-tokens=99", "--port=1"},
		},
		{
			"separate", serve("--max-num-batched-tokens", "8192", "-tp", "2"), "8192", "args",
			[]string{"--max-num-batched-tokens", "99", "-tp", "2"},
		},
		{
			"underscores joined", serve("--max_num_batched_tokens=8k"), "8k", "args",
			[]string{"--max_num_batched_tokens=99"},
		},
		{
			"underscores separate", serve("--max_num_batched_tokens", "8K"), "8K", "args",
			[]string{"--max_num_batched_tokens", "99"},
		},
		{"mixed spelling", serve("--max-num_batched-tokens=1"), "1", "args", []string{"--max-num_batched-tokens=99"}},
		{
			"repeated, the last counts", serve("--max-num-batched-tokens=1", "--x", "--max_num_batched_tokens", "2"),
			"2", "args",
			[]string{"--max-num-batched-tokens=1", "--x", "--max_num_batched_tokens", "99"},
		},
		{
			"in the command",
			Container{
				Command: []string{"vllm", "serve", "m", "--max-num-batched-tokens", "5"}, Args: []string{"--port", "1"},
			},
			"5", "command",
			[]string{"vllm", "serve", "m", "--max-num-batched-tokens", "99"},
		},
		{
			"args after the command count",
			Container{
				Command: []string{"vllm", "serve", "m", "--max-num-batched-tokens=5"},
				Args:    []string{"--max-num-batched-tokens=6"},
			},
			"6", "args",
			[]string{"--max-num-batched-tokens=99"},
		},
		{
			"the name in the command, the value in the args",
			Container{Command: []string{"vllm", "serve", "--max-num-batched-tokens"}, Args: []string{"7", "--x"}},
			"7",
			"args",
			[]string{"99", "--x"},
		},
		{
			"without a command",
			Container{Args: []string{"--model", "m", "--max-num-batched-tokens=4"}},
			"4", "args",
			[]string{"--model", "m", "--max-num-batched-tokens=99"},
		},
		{
			"blanks and quotes of others stay",
			serve("--max-num-batched-tokens=3", `--compilation-config={"level": 3}`, "", "a b"), "3", "args",
			[]string{"--max-num-batched-tokens=99", `--compilation-config={"level": 3}`, "", "a b"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := slices.Concat(tt.line.Command, tt.line.Args)
			line := Parse(tt.line)
			f, count, err := line.Last(MaxNumBatchedTokens)
			if err != nil || count == 0 || f.Value != tt.value {
				t.Fatalf("%+v, %v, %v", f, count, err)
			}
			edit, err := line.Set(f, "99")
			if err != nil || edit.List != tt.list {
				t.Errorf("it is in %s (%v), want %s", edit.List, err, tt.list)
			}
			if diff := cmp.Diff(tt.after, edit.After); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, slices.Concat(tt.line.Command, tt.line.Args)); diff != "" {
				t.Errorf("the command line itself was changed: %s", diff)
			}
		})
	}
}

func TestAFlagIsAddedAtTheEndAndTakenAwayAgain(t *testing.T) {
	t.Parallel()
	const word = "--max-num-batched-tokens=4096"
	for _, tt := range []struct {
		name  string
		line  Container
		list  string
		after []string
	}{
		{"args", Container{Args: []string{"--port=1", ""}}, "args", []string{"--port=1", "", word}},
		{"args behind a command", serve("--port", "1"), "args", []string{"--port", "1", word}},
		{"a command alone", serve(), "command", []string{"vllm", "serve", "meta/llama", word}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			was := Container{Command: slices.Clone(tt.line.Command), Args: slices.Clone(tt.line.Args)}
			edit := Parse(tt.line).Add(word)
			if edit.List != tt.list || !slices.Equal(edit.After, tt.after) {
				t.Fatalf("%s: %q, want %s: %q", edit.List, edit.After, tt.list, tt.after)
			}
			edited := Parse(relisted(tt.line, edit))
			f, count, err := edited.Last(MaxNumBatchedTokens)
			if err != nil || count != 1 || f.Value != "4096" {
				t.Fatalf("%+v, %v, %v", f, count, err)
			}
			back, err := edited.Remove(f)
			if err != nil || back.List != edit.List || !slices.Equal(back.After, edit.Before) {
				t.Errorf(
					"the way back is %q of %s (%v), it was %q of %s", back.After, back.List, err, edit.Before,
					edit.List,
				)
			}
			if diff := cmp.Diff(was, tt.line); diff != "" {
				t.Errorf("the command line itself was changed: %s", diff)
			}
		})
	}
}

func relisted(c Container, e Edit) Container {
	if e.List == InCommand {
		c.Command = e.After
	} else {
		c.Args = e.After
	}
	return c
}

func TestAFlagInTwoWordsIsTakenAwayWithItsValue(t *testing.T) {
	t.Parallel()
	line := Parse(serve("--port=1", "--max-num-batched-tokens", "4096", "--x"))
	f, _, err := line.Last(MaxNumBatchedTokens)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := line.Remove(f); err != nil || e.List != InArgs || !slices.Equal(e.After, []string{"--port=1", "--x"}) {
		t.Errorf("%+v, %v", e, err)
	}
	split := Parse(Container{
		Command: []string{"vllm", "serve", "--max-num-batched-tokens"}, Args: []string{"7", "--x"},
	})
	f, _, err = split.Last(MaxNumBatchedTokens)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = split.Remove(f); err == nil || !strings.Contains(err.Error(), "by hand") {
		t.Errorf("a flag in two lists: %v", err)
	}
}

func TestWhatAVariableBringsIsReadAndNotChanged(t *testing.T) {
	t.Parallel()
	env := []Variable{
		{Name: "N", Value: "8k", Known: true},
		{Name: "FLAG", Value: "--max-num-batched-tokens=8k", Known: true},
		{Name: "PART", Value: "batched", Known: true},
	}
	for _, args := range [][]string{
		{"--max-num-batched-tokens=$(N)"},
		{"--max-num-batched-tokens", "$(N)"},
		{"$(FLAG)"},
		{"--max-num-$(PART)-tokens=8k"},
	} {
		c := serve(args...)
		c.Env = env
		line := Parse(c)
		if n, set, err := line.Number(MaxNumBatchedTokens); n != 8000 || !set || err != nil {
			t.Errorf("%q: %v, %v, %v", args, n, set, err)
		}
		f, _, err := line.Last(MaxNumBatchedTokens)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := line.Set(f, "1"); err == nil || !strings.Contains(err.Error(), "comes from a variable") {
			t.Errorf("%q is changed: %+v, %v", args, e, err)
		}
		if e, err := line.Remove(f); err == nil {
			t.Errorf("%q is taken away: %+v", args, e)
		}
	}
}

func TestAnAbsentFlagMayBeGivenByTheEnvironment(t *testing.T) {
	t.Parallel()
	image := Container{Args: []string{"--model=m"}}
	for _, tt := range []struct {
		name string
		c    Container
		env  []Variable
		from bool
		want string
	}{
		{"nothing", serve(), nil, false, ""},
		{
			"a variable of its name", serve(),
			[]Variable{{Name: "MAX_NUM_BATCHED_TOKENS"}},
			false,
			"the variable MAX_NUM_BATCHED_TOKENS may give it",
		},
		{
			"a variable that mentions it", serve(),
			[]Variable{{Name: "X", Value: "--max_num_batched_tokens=1", Known: true}},
			false,
			"the variable X may give it",
		},
		{"variables that are not seen, started directly", serve(), nil, true, ""},
		{"variables that are not seen, an image's entry point", image, nil, true, "they cannot be seen"},
	} {
		tt.c.Env, tt.c.EnvFrom = tt.env, tt.from
		if err := Parse(tt.c).Unseen(MaxNumBatchedTokens); !says(err, tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
