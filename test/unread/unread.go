// Package unread says which metrics on a page nothing asks for, so that the servers that tests imitate export what is
// read and no more.
package unread

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// T is what a test gives.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Of returns those of the names, of families or of series, that neither a signal of the built-in catalog nor a rule of
// deploy/prometheus nor the detection of the dialect asks for.
func Of(t T, names []string) []string {
	t.Helper()
	read, err := read()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range names {
		if !read[today(name)] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// read are the metrics that something asks for, as today calls them.
func read() (map[string]bool, error) {
	built, err := catalog.Load(playbooks.Options{Window: 5 * time.Minute})
	if err != nil {
		return nil, err
	}
	exprs, err := shipped()
	if err != nil {
		return nil, err
	}
	for _, s := range built.AllSignals() {
		exprs = append(exprs, s.Query)
	}
	out := map[string]bool{
		// Decoys: NIM has the first beside request_finish_total, and the second has no model_name and a time for its value.
		"request_success": true, "vllm:lora_requests_info": true,
	}
	for _, base := range vllm.Telling() {
		out[today(vllm.CanonicalPrefix+base)] = true
	}
	for _, expr := range exprs {
		tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", expr, err)
		}
		parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok {
				out[today(s.Name)] = true
			}
			return nil
		})
	}
	return out, nil
}

// shipped are the expressions of the rules that come with the bot, seen from a package below test/.
func shipped() ([]string, error) {
	files, err := filepath.Glob("../../deploy/prometheus/rules/*.yaml")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("deploy/prometheus has no rules: the test is not in a package right below test/")
	}
	var out []string
	for _, file := range files {
		b, err := os.ReadFile(file) //nolint:gosec // a file of the repository
		if err != nil {
			return nil, err
		}
		var doc struct {
			Groups []struct {
				Rules []struct {
					Expr string `yaml:"expr"`
				} `yaml:"rules"`
			} `yaml:"groups"`
		}
		if err := yaml.Unmarshal(b, &doc); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, g := range doc.Groups {
			for _, r := range g.Rules {
				out = append(out, r.Expr)
			}
		}
	}
	return out, nil
}

// today is the present name of a family or of one of its series, without suffixes, whatever the dialect.
func today(name string) string {
	name = strings.TrimPrefix(name, "kserve_") // KServe's second PodMonitor puts it before every name
	base, _ := vllm.SplitSeries(strings.TrimSuffix(name, vllm.SuffixCreated))
	for _, suffix := range []string{vllm.SuffixTotal, ""} {
		if canonical, ok := vllm.Canonical(strings.TrimSuffix(base, vllm.SuffixTotal) + suffix); ok {
			base = canonical
		}
	}
	return strings.TrimSuffix(base, vllm.SuffixTotal)
}
