package vllm

import (
	"slices"
	"strings"
	"testing"
)

// FuzzCommandLine holds what people rely on, whatever is on a command line: what is said is there where it is said to
// be; another value is read back as that value; everything else stays byte for byte, and so do the other numbers; and
// the way back leaves what was there.
func FuzzCommandLine(f *testing.F) {
	f.Add("vllm\nserve\nm", "--max-num-batched-tokens=8192\n--port\n1", "", "4096")
	f.Add("", "--max_num_batched_tokens\n8k\n--api-key\nabc", "", "1")
	f.Add("python3\n-m\nvllm.entrypoints.openai.api_server\n--max-num-batched-tokens", "1\n\n\x00", "A", "2")
	f.Add("vllm", "--max-num-batched-tokens=1\n--max-num-batched-tokens\n2", "--x", "3")
	f.Add("vllm\nserve\nm", "$(V)\n-tp\n$(V)", "2", "4096")
	f.Add("--x\nlauncher", "--max-num-$(V)=3\n$$(V)", "seqs", "4096")
	f.Add("vllm\nserve\nm", "", "$(V)", "4096")
	f.Fuzz(func(t *testing.T, command, args, variable, value string) {
		c := Container{
			Command: lines(command), Args: lines(args), Env: []Variable{{Name: "V", Value: variable, Known: true}},
		}
		line := Parse(c)
		for key, n := range line.Numbers() {
			if !(n > 0 && n <= Largest) || key != "gpu_memory_utilization" && n != float64(int64(n)) {
				t.Fatalf("%s = %v of %q", key, n, line.text)
			}
		}
		line.Proof()
		line.LooksLikeVLLM()
		if on, known, err := line.Switched(EnableChunkedPrefill); err != nil && (on || known) {
			t.Fatalf("%v, %v, %v", on, known, err)
		}
		if len(line.Flags()) > len(line.words) {
			t.Fatalf("%q has the flags %v", line.text, line.Flags())
		}
		if _, ok := ReadCount(value); !ok {
			return // only numbers are ever written
		}
		at, count, err := line.Last(MaxNumBatchedTokens)
		switch {
		case err != nil:
		case count == 0:
			addAndRemove(t, c, value)
		case at.Variable == "":
			setAndBack(t, c, at, value)
		default:
			if e, err := line.Set(at, value); err == nil {
				t.Fatalf("what a variable brings is changed: %+v", e)
			}
		}
	})
}

func setAndBack(t *testing.T, c Container, at Flag, value string) {
	t.Helper()
	line := Parse(c)
	list, index := line.Place(at)
	words := map[string][]string{InCommand: c.Command, InArgs: c.Args}[list]
	if got := strings.ReplaceAll(words[index], "$$", "$"); got != at.Value && got != at.Key+"="+at.Value {
		t.Fatalf("%s[%d] is %q, and the flag is said to be %s", list, index, got, at)
	}
	edit, err := line.Set(at, value)
	if err != nil || edit.List != list || len(edit.Before) != len(edit.After) {
		t.Fatalf("%+v, %v", edit, err)
	}
	for i := range edit.Before {
		if i != index && edit.Before[i] != edit.After[i] {
			t.Fatalf("%q became %q", edit.Before, edit.After)
		}
	}
	edited := relisted(c, edit)
	again := readBack(t, line, edited, value)
	if strings.Contains(at.Value, "$") {
		return // no number, and therefore never the value to go back to
	}
	if back, err := Parse(edited).Set(again, at.Value); err != nil || !slices.Equal(back.After, edit.Before) {
		t.Fatalf("the way back gives %q, it was %q", back.After, edit.Before)
	}
}

// addAndRemove is the promise for a flag that is not given: it is read back, and the way back leaves what was there.
func addAndRemove(t *testing.T, c Container, value string) {
	t.Helper()
	line := Parse(c)
	edit := line.Add(Written(MaxNumBatchedTokens, value))
	edited := relisted(c, edit)
	f := readBack(t, line, edited, value)
	if back, err := Parse(edited).Remove(f); err != nil || !slices.Equal(back.After, edit.Before) {
		t.Fatalf("the way back gives %q (%v), it was %q", back.After, err, edit.Before)
	}
}

func readBack(t *testing.T, before *CommandLine, edited Container, value string) Flag {
	t.Helper()
	line := Parse(edited)
	f, count, err := line.Last(MaxNumBatchedTokens)
	if err != nil || count == 0 || f.Value != value {
		t.Fatalf("%q is read back as %q (%v): %q", value, f.Value, err, line.text)
	}
	was, is := before.Numbers(), line.Numbers()
	for _, a := range arguments {
		if key := a.Key(); a.Name != MaxNumBatchedTokens && was[key] != is[key] {
			t.Fatalf("%s was %v and is %v", key, was[key], is[key])
		}
	}
	return f
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
