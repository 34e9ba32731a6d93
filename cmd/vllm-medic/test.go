package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/playbooktest"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// tested is what test prints for programs.
type tested struct {
	Passed int                       `json:"passed"`
	Failed int                       `json:"failed"`
	Files  []playbooktest.FileResult `json:"files"`
}

// outcome counts.
func outcome(files []playbooktest.FileResult) tested {
	out := tested{Files: files}
	for _, f := range files {
		if len(f.Problems) > 0 {
			out.Failed++
		}
		for _, r := range f.Results {
			if r.Passed {
				out.Passed++
			} else {
				out.Failed++
			}
		}
	}
	return out
}

func test(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "test FILE...", Short: "run unit tests of playbooks",
		Long: "Run unit tests of playbooks: input series, expected diagnosis and plan. docs/testing-playbooks.md describes " +
			"the format.",
	}
	fs := cmd.Flags()
	only := fs.String("run", "", "run only the tests whose name matches `REGEXP`")
	junit := fs.String("junit", "", "also write the results as JUnit XML to `FILE`")
	series := fs.Bool("series", false, "also print the series that each test loads, histograms written out")
	format := formatFlag(cmd, "text")
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		wanted, err := regexp.Compile(*only)
		if err != nil {
			return usageError{fmt.Sprintf("--run: %v", err)}
		}
		files, err := runTests(cmd.Context(), paths, wanted, newProgress(t))
		if err != nil {
			return err
		}
		all := outcome(files)
		if all.Passed+all.Failed == 0 {
			return usageError{fmt.Sprintf("--run %s: no test has such a name", *only)}
		}
		if *junit != "" {
			if err := writeJUnit(*junit, files); err != nil {
				return err
			}
		}
		if format.value == "text" {
			printTests(t, all, *series)
		} else if err := write(t.out, format.value, all); err != nil {
			return err
		}
		if all.Failed > 0 {
			return errFound
		}
		return nil
	}
	return cmd
}

// runTests reads and runs every file; one with errors does not stop the others.
func runTests(
	ctx context.Context, paths []string, only *regexp.Regexp, p progress,
) ([]playbooktest.FileResult, error) {
	builtin, err := catalog.Files()
	if err != nil {
		return nil, err
	}
	out := make([]playbooktest.FileResult, 0, len(paths))
	for _, path := range paths {
		f, err := playbooktest.Read(path, builtin)
		if bad, ok := errors.AsType[strictyaml.Problems](err); ok {
			r := playbooktest.FileResult{File: path, Results: []playbooktest.Result{}}
			for _, p := range bad {
				r.Problems = append(r.Problems, p.String())
			}
			out = append(out, r)
			continue
		}
		if err != nil {
			return nil, err
		}
		f.Progress = p.counting("tests of " + path)
		out = append(out, playbooktest.FileResult{File: path, Results: f.Run(ctx, only)})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func writeJUnit(path string, files []playbooktest.FileResult) error {
	var b bytes.Buffer
	if err := playbooktest.WriteJUnit(&b, files); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	//nolint:gosec // a report for a CI system, which may run as somebody else
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	return nil
}

func printTests(t terminal, all tested, series bool) {
	w := unwrapped(t)
	for _, f := range all.Files {
		say(w, "Unit testing: %s\n", f.File)
		if series {
			printSeries(t.out, f)
		}
		if f.Passed() {
			tintLine(w, green, "  SUCCESS")
		} else {
			tintLine(w, red, "  FAILED:")
		}
		for _, problem := range f.Problems {
			say(w, "    %s\n", problem)
		}
		printFailures(w, f)
		say(w, "\n")
	}
	if all.Failed > 0 {
		tintLine(w, red, fmt.Sprintf("%d passed, %d failed.", all.Passed, all.Failed))
		return
	}
	tintLine(w, green, fmt.Sprintf("%d passed.", all.Passed))
}

// printFailures says once what is the same in several dialects.
func printFailures(w io.Writer, f playbooktest.FileResult) {
	for i := 0; i < len(f.Results); {
		r, dialects := f.Results[i], []string{f.Results[i].Dialect}
		for i++; i < len(f.Results) && r.SameFailure(f.Results[i]); i++ {
			dialects = append(dialects, f.Results[i].Dialect)
		}
		if !r.Passed {
			say(w, "    %s, at %s, metrics as in %s (%s:%d)\n", r.Test, r.At, strings.Join(dialects, ", "), f.File, r.Line)
			printFailure(w, r)
		}
	}
}

func printFailure(w io.Writer, r playbooktest.Result) {
	if r.Error != "" {
		say(w, "      could not run: %s\n", r.Error)
	}
	if len(r.Without) > 0 {
		say(w, "      without %s, which do not exist there\n", strings.Join(r.Without, ", "))
	}
	for _, d := range r.Differences {
		tintLine(w, red, "      - "+d.Field+": "+d.Expected)
		tintLine(w, green, "      + "+d.Field+": "+d.Got)
		for line := range strings.Lines(d.Why) {
			say(w, "          %s\n", strings.TrimSpace(line))
		}
	}
}

func printSeries(w io.Writer, f playbooktest.FileResult) {
	for _, r := range f.Results {
		say(w, "  %s, metrics as in %s:\n", r.Test, r.Dialect)
		for _, s := range r.Series {
			say(w, "    - {series: '%s', values: '%s'}\n", strings.ReplaceAll(s.Series, "'", "''"),
				strings.ReplaceAll(s.Values, "'", "''"))
		}
	}
}
