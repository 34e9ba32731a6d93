//go:build efficacy

package efficacy_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/efficacy"
	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

var (
	seeds   = flag.Int("seeds", 20, "plays of each script under each hand")
	scripts = flag.String("scripts", "", "names, separated by commas; all when empty")
	only    = flag.String("hand", "", "the only hand to play under; all when empty")
	write   = flag.Bool("write", false, "write the document and its pictures")
	keep    = flag.String("keep", "", "a file that gets all plays as JSON")
	from    = flag.String("from", "", "a file with plays as JSON, which are not played again")
)

// TestEfficacy plays everything. With -write it renews docs/efficacy.md; without, it prints what would be there.
func TestEfficacy(t *testing.T) {
	var all efficacy.Results
	if *from == "" {
		all = played(t)
	} else if err := read(*from, &all); err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		return
	}
	if *keep != "" {
		text, err := json.Marshal(all)
		if err == nil {
			err = os.WriteFile(*keep, text, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if *only != "" {
		t.Log("\n" + all.Steps())
		return
	}
	if !*write {
		t.Log("\n" + all.Answer() + "\n" + all.Totals() + "\n" + all.Steps() + "\n" + all.Scripts() + "\n" + all.GPUs())
		return
	}
	if err := renew(all); err != nil {
		t.Fatal(err)
	}
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// played plays the chosen scripts.
func played(t *testing.T) efficacy.Results {
	t.Helper()
	st, err := efficacy.NewStage(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	chosen := trial.Scripts()
	if *scripts != "" {
		chosen = nil
		for name := range strings.SplitSeq(*scripts, ",") {
			s, err := trial.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			chosen = append(chosen, s)
		}
	}
	hands := efficacy.Hands()
	if *only != "" {
		hands = []string{*only}
	}
	all := make(efficacy.Results, len(chosen)**seeds*len(hands))
	var done atomic.Int64
	t.Run("plays", func(t *testing.T) {
		for i := range all {
			s, seed, hand := chosen[i/len(hands) / *seeds], uint64(i/len(hands)%*seeds+1), hands[i%len(hands)]
			t.Run(fmt.Sprintf("%s/%s/%d", s.Name, hand, seed), func(t *testing.T) {
				t.Parallel()
				all[i] = st.Play(t, s, seed, hand)
				if n := done.Add(1); n%100 == 0 {
					fmt.Fprintf(os.Stderr, "%d of %d plays\n", n, len(all))
				}
			})
		}
	})
	return all
}

// renew writes the document and its pictures.
func renew(all efficacy.Results) error {
	docs := filepath.Join("..", "..", "docs")
	timeline, err := all.Timeline("surge", 1)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(docs, "efficacy.md"))
	if err != nil {
		return err
	}
	document, err := all.Write(string(text))
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"efficacy.md": document, "efficacy/violations.svg": all.Picture(), "efficacy/timeline.svg": timeline,
	} {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
